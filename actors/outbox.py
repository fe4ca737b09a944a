"""Outbox: deliver events that wait for a script: dead letters to the triggers that want them, and `invoke_async`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio
from uuid_utils.compat import uuid7

from picloud.actors.library import Library
from picloud.actors.retrying import OutageBackoff
from picloud.actors.runtime import HealthGauge, WakeMailbox
from picloud.actors.wakes import OnSent
from picloud.backoff import compute_backoff
from picloud.db.messages import error_json
from picloud.db.outbox import Delivery
from picloud.db.units import Committed
from picloud.engine import Engine, Event, Job, Outcome, build_event
from picloud.errors import DatabaseUnavailable, InvalidInput, KvError, ScriptInvalid
from picloud.types import ClaimToken, Effects, ExecutionId, ScriptError


class OutboxStore(Protocol):
    """What the outbox asks of the database. Each may raise DatabaseUnavailable."""

    async def claim(self, token: ClaimToken, limit: int) -> list[Delivery]: ...

    async def finish(self, token: ClaimToken, delivery: Delivery, effects: Effects) -> Committed | None: ...

    async def nack(self, token: ClaimToken, delivery: Delivery, wait_ms: float) -> None: ...

    async def bury(self, token: ClaimToken, delivery: Delivery, error: str) -> None: ...

    async def release(self, token: ClaimToken, deliveries: Sequence[Delivery]) -> None: ...

    async def reclaim(self, timeout_secs: float, limit: int) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True)
class OutboxConfig:
    """Durations are seconds."""

    poll_interval: float = 1.0
    lease: float = 60.0
    """Longer than any execution: a delivery older than this belongs to a node that died."""
    batch_size: int = 10
    """Few: they run one after the other under one lease."""
    max_depth: int = 8
    slice_secs: float = 0.05
    settle_timeout: float = 5.0


@dataclass(frozen=True, slots=True)
class Delivered:
    """What one round did."""

    done: int = 0
    failed: int = 0
    dead: int = 0


class Outbox:
    """Claim due rows, run their scripts, and settle each with its effects in one transaction."""

    def __init__(
        self,
        store: OutboxStore,
        library: Library,
        engine: Engine,
        gate: trio.CapacityLimiter,
        wake: WakeMailbox,
        config: OutboxConfig,
        *,
        on_sent: OnSent,
        on_outcomes: Callable[[Sequence[Outcome]], None],
    ) -> None:
        self.mailbox = wake
        self.health = HealthGauge()
        self.delivered = self.failed = self.dead = 0
        self._store = store
        self._library = library
        self._engine = engine
        self._gate = gate
        self._config = config
        self._on_sent = on_sent
        self._on_outcomes = on_outcomes

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Deliver whenever there is something; look at every poll interval and when woken."""
        task_status.started()
        backoff = OutageBackoff(self.health)
        while True:
            try:
                await self._store.reclaim(self._config.lease, 1000)
                found = await self.deliver()
            except DatabaseUnavailable as error:
                await backoff.wait(error)
                continue
            backoff.ok()
            if not found:
                await self.mailbox.wait(timeout=self._config.poll_interval)

    async def deliver(self) -> bool:
        """Claim one batch and run it; False when nothing is due. What was not run is given back."""
        token = ClaimToken(uuid7())
        waiting = await self._store.claim(token, self._config.batch_size)
        found = bool(waiting)
        try:
            while waiting:
                await self._deliver_one(token, waiting[0])
                waiting = waiting[1:]
        finally:
            if waiting:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + self._config.settle_timeout):
                    await self._store.release(token, waiting)
        return found

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        return {"delivered": self.delivered, "failed": self.failed, "dead_lettered": self.dead}

    async def _deliver_one(self, token: ClaimToken, delivery: Delivery) -> None:
        refusal = self._refuse(delivery)
        if refusal is not None:
            await self._fail(token, delivery, refusal, final=True)
            return
        try:
            event = build_event(delivery.source_kind, delivery.event)
        except InvalidInput as broken:
            await self._fail(token, delivery, ScriptError.of(broken), final=True)
            return
        outcome = await self._execute(delivery, event)
        if isinstance(outcome, ScriptError):
            await self._fail(token, delivery, outcome)
        elif outcome.cancelled:
            await self._store.release(token, [delivery])
        elif outcome.error is not None:
            await self._fail(token, delivery, outcome.error)
        else:
            await self._finish(token, delivery, outcome)

    async def _finish(self, token: ClaimToken, delivery: Delivery, outcome: Outcome) -> None:
        try:
            committed = await self._store.finish(token, delivery, outcome.effects)
        except KvError as refusal:
            await self._fail(token, delivery, ScriptError.of(refusal))
            return
        self.delivered += 1
        if committed is not None:
            self._on_sent(delivery.app_id, committed.messages, committed.sent)
            if committed.invocations:
                self.mailbox.wake()

    def _refuse(self, delivery: Delivery) -> ScriptError | None:
        """Check again what held when the row was written: it may have been edited since."""
        if delivery.script_name is None:
            return ScriptError("InvokeError", "invoke: the script is gone")
        if delivery.script_app_id != delivery.app_id:
            return ScriptError("InvokeError", "invoke: cross-app call refused")
        if delivery.trigger_depth > self._config.max_depth:
            return ScriptError("InvokeError", f"invoke: depth limit exceeded (max {self._config.max_depth})")
        return None

    async def _execute(self, delivery: Delivery, event: Event) -> Outcome | ScriptError:
        assert delivery.script_name is not None
        script = self._library.find(delivery.app_id, delivery.script_name)
        if script is None:
            await self._library.refresh()
            script = self._library.find(delivery.app_id, delivery.script_name)
        if script is None:
            return ScriptError("InvokeError", f"invoke: script '{delivery.script_name}' not found")
        try:
            compiled = await trio.to_thread.run_sync(self._engine.compile, script.name, script.source)
        except ScriptInvalid as invalid:
            return ScriptError.of(invalid)
        job = Job(
            app_id=delivery.app_id,
            app_name=delivery.app_name,
            script=compiled,
            version=script.version,
            event=event,
            key=delivery.id,
            trigger_depth=delivery.trigger_depth,
            root_execution_id=delivery.root_execution_id,
        )
        outcomes = await trio.to_thread.run_sync(self._run, job, limiter=self._gate)
        return outcomes[0] if outcomes else _not_run(job)

    def _run(self, job: Job) -> list[Outcome]:
        outcomes = self._engine.run_slice([job], slice_secs=self._config.slice_secs)
        self._on_outcomes(outcomes)
        return outcomes

    async def _fail(self, token: ClaimToken, delivery: Delivery, error: ScriptError, *, final: bool = False) -> None:
        if not final and delivery.attempt < delivery.max_attempts:
            wait = compute_backoff(delivery.attempt, delivery.retry_backoff, delivery.retry_base_ms)
            await self._store.nack(token, delivery, float(wait))
            self.failed += 1
        else:
            await self._store.bury(token, delivery, json.dumps(error_json(error)))
            self.dead += 1


def _not_run(job: Job) -> Outcome:
    """The engine was told to stop before the job began."""
    return Outcome(
        job=job,
        execution_id=ExecutionId(uuid7()),
        ok=False,
        value=None,
        error=None,
        effects=Effects(),
        logs=(),
        duration=0.0,
        cpu=0.0,
        cancelled=True,
    )
