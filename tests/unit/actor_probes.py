"""A queue in memory that keeps the promises of the real one, for tests of what consumes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import trio

from picloud.actors.consumer import Consumer, ConsumerConfig
from picloud.actors.lane import Ran
from picloud.actors.runtime import WakeMailbox
from picloud.actors.settling import Verdict
from picloud.db.messages import LowWater, Pulled, Settlement
from picloud.engine import Job, Outcome, QueueEvent
from picloud.engine.sandbox import compile_script
from picloud.errors import DatabaseUnavailable
from picloud.types import (
    AppId,
    ClaimToken,
    Effects,
    ExecutionId,
    Message,
    MessageId,
    NewMessage,
    QueueTrigger,
    ScriptError,
    ScriptId,
    TriggerId,
)

NOW = datetime(2026, 12, 1, tzinfo=UTC)
SCRIPT = compile_script("def handle(event, ctx): pass", "work")


def make_trigger(**changes: Any) -> QueueTrigger:
    values: dict[str, Any] = {
        "id": TriggerId(uuid4()),
        "app_id": AppId(uuid4()),
        "app_name": "shop",
        "script_id": ScriptId(uuid4()),
        "script_name": "work",
        "script_version": 1,
        "queue_name": "jobs",
        "enabled": True,
        "visibility_timeout_secs": 30,
        "retry_max_attempts": 3,
        "retry_backoff": "constant",
        "retry_base_ms": 1000,
        "batch_size": 100,
        "concurrency": 1,
        "last_fired_at": None,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return QueueTrigger(**{**values, **changes})


def make_message(payload: Any = None, *, attempt: int = 1, max_attempts: int = 3) -> Message:
    return Message(MessageId(uuid4()), "jobs", payload, attempt, max_attempts, 0, NOW, NOW, 0, None)


def outcome(
    message: Message, *, error: ScriptError | None = None, effects: Sequence[NewMessage] = (), **more: Any
) -> Outcome:
    event = QueueEvent("jobs", str(message.id), message.payload, message.attempt, message.max_attempts, NOW)
    job = Job(AppId(uuid4()), "shop", SCRIPT, 1, event, key=message.id)
    values: dict[str, Any] = {
        "job": job,
        "execution_id": ExecutionId(uuid4()),
        "ok": error is None and not more.get("cancelled"),
        "value": None,
        "error": error,
        "effects": Effects(tuple(effects)),
        "logs": (),
        "duration": 0.0,
        "cpu": 0.0,
    }
    return Outcome(**{**values, **more})


class MemoryQueue:
    """A QueueStore. `calls` tells what was asked, `outages` makes the next calls fail."""

    def __init__(self, *payloads: Any) -> None:
        self.ready = [make_message(p) for p in payloads]
        self.claimed: dict[MessageId, tuple[ClaimToken, Message]] = {}
        self.acked: list[Any] = []
        self.given_up: list[Verdict] = []
        self.extended: list[float] = []
        self.calls: list[tuple[str, int]] = []
        self.outages = 0
        self.lose_answers = 0
        self.touched = 0

    def _fail(self) -> None:
        if self.outages:
            self.outages -= 1
            raise DatabaseUnavailable("the database is away")

    async def pull(self, settle: Settlement, token: ClaimToken, limit: int, low_water: LowWater) -> Pulled:
        await trio.lowlevel.checkpoint()
        self.calls.append(("pull", limit))
        self._fail()
        acked = [i for i in settle.done if i in self.claimed and self.claimed[i][0] == settle.token]
        for message_id in acked:
            self.acked.append(self.claimed.pop(message_id)[1].payload)
        batch, self.ready = self.ready[:limit], self.ready[limit:]
        self.claimed |= {m.id: (token, m) for m in batch}
        if self.lose_answers:
            self.lose_answers -= 1
            raise DatabaseUnavailable("the answer was lost")
        return Pulled(batch, len(acked))

    async def give_up(self, verdict: Verdict) -> None:
        await trio.lowlevel.checkpoint()
        self._fail()
        self.given_up.append(verdict)
        ended = [i for i, _ in verdict.retry_ms + verdict.dead] + [i for i, _, _ in verdict.discarded]
        for message_id in ended + verdict.untried:
            token, message = self.claimed.pop(message_id)
            assert token == verdict.token
            if message_id in verdict.untried:
                self.ready.append(message)

    async def extend(self, token: ClaimToken, ids: Sequence[MessageId]) -> int:
        await trio.lowlevel.checkpoint()
        self._fail()
        self.extended.append(trio.current_time())
        return len(ids)

    async def touch(self) -> None:
        self.touched += 1


Handle = Callable[[Sequence[Message]], Any]


def make_consumer(store: MemoryQueue, handle: Handle, wake: WakeMailbox | None = None, **changes: Any) -> Consumer:
    return Consumer(
        make_trigger(**changes),
        store,
        handle,
        wake or WakeMailbox(),
        ConsumerConfig(),
        on_sent=lambda effects: None,
        on_retry=lambda seconds: None,
    )


async def handle_all(messages: Sequence[Message]) -> Ran:
    """Succeed with everything, at a millisecond each."""
    await trio.sleep(0.001 * len(messages))
    return Ran([outcome(m) for m in messages], 0.001 * len(messages))


LATER = timedelta(seconds=1)
