"""Run the messages of one queue through the engine, on a worker thread behind the node's gate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import trio

from picloud.actors.lane import Ran
from picloud.engine import CompiledScript, Engine, Job, Outcome, QueueEvent
from picloud.types import Message, QueueTrigger


class MessageHandling:
    """One thread hop per batch; the engine gives back after a time slice, so that no queue holds a thread for long."""

    __slots__ = ("_engine", "_gate", "_on_outcomes", "_script", "_slice_secs", "_trigger")

    def __init__(
        self,
        engine: Engine,
        gate: trio.CapacityLimiter,
        trigger: QueueTrigger,
        script: CompiledScript,
        *,
        slice_secs: float,
        on_outcomes: Callable[[Sequence[Outcome]], None],
    ) -> None:
        self._engine = engine
        self._gate = gate
        self._trigger = trigger
        self._script = script
        self._slice_secs = slice_secs
        self._on_outcomes = on_outcomes

    async def __call__(self, messages: Sequence[Message]) -> Ran:
        """Run messages until the slice is over; cancelled only while waiting at the gate."""
        return await trio.to_thread.run_sync(self._run, messages, limiter=self._gate)

    def _run(self, messages: Sequence[Message]) -> Ran:
        started = time.perf_counter()
        outcomes = self._engine.run_slice([self._job(message) for message in messages], slice_secs=self._slice_secs)
        seconds = time.perf_counter() - started
        self._on_outcomes(outcomes)
        return Ran(outcomes, seconds)

    def _job(self, message: Message) -> Job:
        trigger = self._trigger
        event = QueueEvent(
            queue=trigger.queue_name,
            message_id=str(message.id),
            payload=message.payload,
            attempt=message.attempt,
            max_attempts=message.max_attempts,
            enqueued_at=message.enqueued_at,
        )
        return Job(
            app_id=trigger.app_id,
            app_name=trigger.app_name,
            script=self._script,
            version=trigger.script_version,
            event=event,
            key=message.id,
            trigger_depth=message.trigger_depth,
            root_execution_id=message.root_execution_id,
            request_id=message.request_id,
            parent_execution_id=message.parent_execution_id,
            trigger_id=trigger.id,
        )
