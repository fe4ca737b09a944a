"""Run rows of the outbox through the engine, on a worker thread behind the node's gate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import trio

from picloud.actors.lane import Ran
from picloud.actors.library import Library
from picloud.actors.retrying import retry_outages
from picloud.actors.settling import Refused
from picloud.db.outbox import Delivery
from picloud.engine import Engine, Job, Outcome, build_event
from picloud.errors import InvalidInput, ScriptInvalid
from picloud.types import ScriptError


class DeliveryHandling:
    """One thread hop per batch, whatever scripts and apps its rows are of; the engine gives back after a time slice."""

    __slots__ = ("_engine", "_gate", "_library", "_max_depth", "_on_outcomes", "_slice_secs")

    def __init__(
        self,
        engine: Engine,
        gate: trio.CapacityLimiter,
        library: Library,
        *,
        max_depth: int,
        slice_secs: float,
        on_outcomes: Callable[[Sequence[Outcome]], None],
    ) -> None:
        self._engine = engine
        self._gate = gate
        self._library = library
        self._max_depth = max_depth
        self._slice_secs = slice_secs
        self._on_outcomes = on_outcomes

    async def __call__(self, deliveries: Sequence[Delivery]) -> Ran:
        """Run deliveries until the slice is over; cancelled only before the first of them runs."""
        if not all(map(self._is_known, deliveries)):
            await retry_outages(self._library.refresh, self._library.health)
        return await trio.to_thread.run_sync(self._run, deliveries, limiter=self._gate)

    def _is_known(self, delivery: Delivery) -> bool:
        """Whether the library holds the script as it was when the row was claimed, or a later version."""
        if delivery.script_name is None or delivery.script_version is None:
            return True
        script = self._library.find(delivery.app_id, delivery.script_name)
        return script is not None and script.version >= delivery.script_version

    def _run(self, deliveries: Sequence[Delivery]) -> Ran:
        started = time.perf_counter()
        prepared = [self._prepare(delivery) for delivery in deliveries]
        jobs = [one for one in prepared if isinstance(one, Job)]
        ran = self._engine.run_slice(jobs, slice_secs=self._slice_secs) if jobs else []
        results = iter(ran)
        outcomes: list[Outcome | Refused] = []
        for one in prepared:
            outcome = next(results, None) if isinstance(one, Job) else one
            if outcome is None:
                # the slice was over
                break
            outcomes.append(outcome)
        seconds = time.perf_counter() - started
        self._on_outcomes(ran)
        return Ran(outcomes, seconds)

    def _prepare(self, delivery: Delivery) -> Job | Refused:
        """Return what to run, or why not: what held when the row was written may have changed since."""
        if delivery.script_name is None:
            return _refuse("the script is gone")
        if delivery.script_app_id != delivery.app_id:
            return _refuse("cross-app call refused")
        if delivery.trigger_depth > self._max_depth:
            return _refuse(f"depth limit exceeded (max {self._max_depth})")
        script = self._library.find(delivery.app_id, delivery.script_name)
        if script is None:
            return _refuse(f"script '{delivery.script_name}' not found", final=False)
        try:
            event = build_event(delivery.source_kind, delivery.event)
            compiled = self._engine.compile(script.name, script.source)
        except InvalidInput as fault:
            return Refused(ScriptError.of(fault), final=not isinstance(fault, ScriptInvalid))
        return Job(
            app_id=delivery.app_id,
            app_name=delivery.app_name,
            script=compiled,
            version=script.version,
            event=event,
            key=delivery.id,
            trigger_depth=delivery.trigger_depth,
            root_execution_id=delivery.root_execution_id,
            request_id=delivery.request_id,
            parent_execution_id=delivery.parent_execution_id,
            trigger_id=delivery.trigger_id,
            attempt=delivery.attempt,
        )


def _refuse(reason: str, *, final: bool = True) -> Refused:
    return Refused(ScriptError("InvokeError", f"invoke: {reason}"), final)
