"""Roster: one consumer for each enabled queue trigger, no more and no less."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import trio

from picloud.actors.retrying import OutageBackoff
from picloud.actors.runtime import (
    ChildNotFound,
    ChildSpec,
    DynamicSupervisor,
    HealthGauge,
    ShutdownTimeout,
    SupervisorNotRunning,
    WakeMailbox,
)
from picloud.errors import DatabaseUnavailable, PicloudError
from picloud.types import QueueTrigger

ListTriggers = Callable[[], Awaitable[list[QueueTrigger]]]
MakeConsumer = Callable[[QueueTrigger], Awaitable[ChildSpec]]
"""Builds the consumer of a trigger. Raises: PicloudError when its script cannot run."""


Fingerprint = Callable[[], Awaitable[str]]
"""Returns a text that changes whenever the list of triggers does."""


@dataclass(frozen=True, slots=True)
class RosterConfig:
    """Durations are seconds."""

    poll_interval: float = 1.0
    """How often the fingerprint is asked for: finds what no notification told."""
    full_interval: float = 30.0
    """How often triggers and consumers are compared though the fingerprint is the same."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What one comparison of triggers and consumers led to; ids are `app/queue`."""

    started: tuple[str, ...] = ()
    stopping: tuple[str, ...] = ()
    """Disabled, deleted or edited; the edited ones are started when they have ended."""
    failed: tuple[str, ...] = ()


class Roster:
    """Start, stop and restart consumers as triggers and scripts change.

    A consumer that takes long to finish what it runs keeps no other from starting.
    """

    consumers: DynamicSupervisor
    """Where the consumers live; set before `run`: the roster is itself a child of it."""

    def __init__(
        self,
        fingerprint: Fingerprint,
        list_triggers: ListTriggers,
        make_consumer: MakeConsumer,
        changed: WakeMailbox,
        config: RosterConfig,
        *,
        on_stopped: Callable[[QueueTrigger], None] = lambda trigger: None,
    ) -> None:
        self._fingerprint = fingerprint
        self._list_triggers = list_triggers
        self._make_consumer = make_consumer
        self._config = config
        self._on_stopped = on_stopped
        self._running: dict[str, QueueTrigger] = {}
        self._leaving: set[str] = set()
        self._drains: dict[str, Callable[[], None]] = {}
        self._failed: dict[str, str] = {}
        self._seen = ""
        self._compared_at = -math.inf
        self.closed = False
        self.mailbox = changed
        self.health = HealthGauge()
        self.last = Reconciled()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Reconcile at each change and whenever the fingerprint says so."""
        self._leaving.clear()
        self._seen = ""
        backoff = OutageBackoff(self.health)
        async with trio.open_nursery() as nursery:
            task_status.started()
            while not self.closed:
                try:
                    if await self.is_due():
                        self.last = await self.reconcile(nursery)
                except DatabaseUnavailable as error:
                    await backoff.wait(error)
                    continue
                backoff.ok(self._describe_failures())
                await self.mailbox.wait(timeout=self._config.poll_interval)
            await trio.sleep_forever()

    def close(self) -> None:
        """Start no consumer any more, and have all of them drain at once."""
        self.closed = True
        for drain in self._drains.values():
            drain()

    async def is_due(self) -> bool:
        """Return whether triggers and consumers may differ."""
        seen, self._seen = self._seen, await self._fingerprint()
        return (
            self._seen != seen
            or trio.current_time() >= self._compared_at + self._config.full_interval
            or any(name not in self.consumers for name in self._running)
        )

    async def reconcile(self, nursery: trio.Nursery) -> Reconciled:
        """Compare triggers with consumers once and make them agree; `nursery` waits for those that end."""
        try:
            wanted = {name_consumer(trigger): trigger for trigger in await self._list_triggers()}
            self._running = {
                name: trigger
                for name, trigger in self._running.items()
                if name in self.consumers or name in self._leaving
            }
            outdated = [
                name
                for name, trigger in self._running.items()
                if name not in self._leaving and (name not in wanted or is_edited(trigger, wanted[name]))
            ]
            for name in outdated:
                self._leaving.add(name)
                nursery.start_soon(self._stop, name)
            new = {name: trigger for name, trigger in wanted.items() if name not in self._running}
            await self._start(new)
        except BaseException:
            self._seen = ""
            raise
        self._compared_at = trio.current_time()
        return Reconciled(
            started=tuple(name for name in new if name not in self._failed),
            stopping=tuple(outdated),
            failed=tuple(self._failed),
        )

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        return {"consumers": len(self._running), "stopping": len(self._leaving), "failed": dict(self._failed)}

    def _describe_failures(self) -> str | None:
        if not self._failed:
            return None
        return "; ".join(f"{name}: {error}" for name, error in sorted(self._failed.items())[:5])

    async def _stop(self, name: str) -> None:
        """Have a consumer finish what it runs; then look again, since its trigger may want another one."""
        while name in self.consumers:
            try:
                await self.consumers.terminate_child(name)
            except ShutdownTimeout:
                await trio.sleep(self._config.poll_interval)
            except (ChildNotFound, SupervisorNotRunning):
                break
        self._drains.pop(name, None)
        self._on_stopped(self._running.pop(name))
        self._leaving.discard(name)
        self._seen = ""
        self.mailbox.wake()

    async def _start(self, triggers: dict[str, QueueTrigger]) -> None:
        specs: list[ChildSpec] = []
        failed: dict[str, str] = {}
        for name, trigger in triggers.items():
            try:
                specs.append(await self._make_consumer(trigger))
            except DatabaseUnavailable:
                raise
            except PicloudError as error:
                failed[name] = str(error)
        for name, crash in (await self.consumers.start_children(specs)).items():
            failed[name] = f"{type(crash).__name__}: {crash}"
        self._running |= {name: trigger for name, trigger in triggers.items() if name not in failed}
        self._drains |= {spec.id: spec.on_shutdown for spec in specs if spec.on_shutdown and spec.id not in failed}
        self._failed = failed


def name_consumer(trigger: QueueTrigger) -> str:
    """Return the consumer's id in the tree."""
    return f"{trigger.app_name}/{trigger.queue_name}"


def is_edited(old: QueueTrigger, new: QueueTrigger) -> bool:
    """Return whether the consumer must be started anew."""
    return _version(old) != _version(new)


def _version(trigger: QueueTrigger) -> tuple[object, ...]:
    rules = (trigger.max_in_flight, trigger.rate_per_second)
    return (trigger.id, trigger.updated_at, trigger.script_id, trigger.script_version, *rules)
