"""Roster: one consumer for each enabled queue trigger, no more and no less."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import trio

from picloud.actors.retrying import OutageBackoff
from picloud.actors.runtime import ChildSpec, DynamicSupervisor, HealthGauge, WakeMailbox
from picloud.errors import DatabaseUnavailable, PicloudError
from picloud.types import QueueTrigger

ListTriggers = Callable[[], Awaitable[list[QueueTrigger]]]
MakeConsumer = Callable[[QueueTrigger], Awaitable[ChildSpec]]
"""Builds the consumer of a trigger. Raises: PicloudError when its script cannot run."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What one comparison of triggers and consumers led to; ids are `app/queue`."""

    started: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class Roster:
    """Start, stop and restart consumers as triggers and scripts change."""

    consumers: DynamicSupervisor
    """Where the consumers live; set before `run`: the roster is itself a child of it."""

    def __init__(
        self,
        list_triggers: ListTriggers,
        make_consumer: MakeConsumer,
        changed: WakeMailbox,
        *,
        poll_interval: float,
        on_stopped: Callable[[QueueTrigger], None] = lambda trigger: None,
    ) -> None:
        self._list_triggers = list_triggers
        self._make_consumer = make_consumer
        self._running: dict[str, QueueTrigger] = {}
        self._drains: dict[str, Callable[[], None]] = {}
        self._failed: dict[str, str] = {}
        self.closed = False
        self._poll_interval = poll_interval
        self._on_stopped = on_stopped
        self.mailbox = changed
        self.health = HealthGauge()
        self.last = Reconciled()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Reconcile at each change and every `poll_interval` seconds."""
        task_status.started()
        backoff = OutageBackoff(self.health)
        while not self.closed:
            try:
                self.last = await self.reconcile()
            except DatabaseUnavailable as error:
                await backoff.wait(error)
                continue
            backoff.ok()
            if self._failed:
                self.health.degraded("; ".join(f"{name}: {error}" for name, error in sorted(self._failed.items())[:5]))
            await self.mailbox.wait(timeout=self._poll_interval)
        await trio.sleep_forever()

    def close(self) -> None:
        """Start no consumer any more, and have all of them drain at once."""
        self.closed = True
        for drain in self._drains.values():
            drain()

    async def reconcile(self) -> Reconciled:
        """Compare triggers with consumers once and make them agree."""
        wanted = {name_consumer(trigger): trigger for trigger in await self._list_triggers()}
        alive = {name: t for name, t in self._running.items() if name in self.consumers}
        gone = [name for name in alive if name not in wanted]
        edited = [name for name, trigger in alive.items() if name in wanted and is_edited(trigger, wanted[name])]
        await self._stop([*gone, *edited])
        new = [name for name in wanted if name not in alive]
        failed = await self._start({name: wanted[name] for name in [*new, *edited]})
        return Reconciled(
            started=tuple(name for name in new if name not in failed),
            stopped=tuple(gone),
            restarted=tuple(name for name in edited if name not in failed),
            failed=tuple(failed),
        )

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        return {"consumers": len(self._running), "failed": dict(self._failed)}

    async def _stop(self, names: list[str]) -> None:
        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(self.consumers.terminate_child, name)
        for name in names:
            self._drains.pop(name, None)
            self._on_stopped(self._running.pop(name))

    async def _start(self, triggers: dict[str, QueueTrigger]) -> list[str]:
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
        return list(failed)


def name_consumer(trigger: QueueTrigger) -> str:
    """Return the consumer's id in the tree."""
    return f"{trigger.app_name}/{trigger.queue_name}"


def is_edited(old: QueueTrigger, new: QueueTrigger) -> bool:
    """Return whether the consumer must be started anew."""
    return (old.id, old.updated_at, old.script_id, old.script_version) != (
        new.id,
        new.updated_at,
        new.script_id,
        new.script_version,
    )
