"""Consumer: pulls the messages of one queue, has them handled, and settles them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import trio

from picloud.actors.lane import Handle, Lane, LaneConfig, LaneStore
from picloud.actors.recording import Amend, keep_as_recorded
from picloud.actors.runtime import HealthGauge, WakeMailbox
from picloud.actors.settling import Verdict
from picloud.backoff import compute_backoff
from picloud.db.messages import LowWater, Pulled
from picloud.db.units import Committed
from picloud.types import AppId, Message, NewMessage, QueueTrigger


class QueueStore(LaneStore[Message, LowWater], Protocol):
    """What a consumer asks of the database, for its one queue."""

    async def touch(self) -> None:
        """Note that the trigger fired."""


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """Durations are seconds."""

    slice_secs: float = 0.05
    settle_timeout: float = 5.0
    """How long the last settlement may take at shutdown."""
    touch_interval: float = 5.0
    """How often the trigger's `last_fired_at` is written at most."""


class Consumer:
    """Handle the messages of one queue.

    Pipeline: one statement settles the last batch and claims the next while a worker thread runs the one between.
    Handlers' errors are data; an outage is waited out with all that is to be settled in hand; only a bug ends `run`.
    """

    def __init__(
        self,
        trigger: QueueTrigger,
        store: QueueStore,
        handle: Handle[Message],
        wake: WakeMailbox,
        config: ConsumerConfig,
        *,
        on_sent: Callable[[Sequence[NewMessage]], None],
        on_retry: Callable[[float], None],
        on_outbox: Callable[[], None] = lambda: None,
        amend: Amend = keep_as_recorded,
    ) -> None:
        self.trigger = trigger
        self.mailbox = wake
        self.health = HealthGauge()
        self.stopping = False
        self.paused = False
        self.processed = 0
        self.failed = 0
        self.dead_lettered = 0
        self.leases_lost = 0
        self.last_message_at: str | None = None
        self.store = store
        self.amend = amend
        self._handle = handle
        self._config = config
        self._on_sent = on_sent
        self._on_retry = on_retry
        self._on_outbox = on_outbox
        self._lanes: list[Lane[Message, LowWater]] = []
        self._idle = IdleLanes()
        self._touched = 0.0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Consume until asked to drain; then finish what runs, settle it, and give the rest back."""
        self.stopping = False
        config = LaneConfig(
            lease=self.trigger.visibility_timeout_secs,
            batch_size=self.trigger.batch_size,
            slice_secs=self._config.slice_secs,
            settle_timeout=self._config.settle_timeout,
        )
        self._lanes = [Lane(self, self._handle, LowWater(), config) for _ in range(self.trigger.concurrency)]
        task_status.started()
        if len(self._lanes) == 1:
            # no nursery: ten thousand idle consumers should cost little
            await self._lanes[0].run(self._wait_for_message)
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen)
            for lane in self._lanes:
                nursery.start_soon(lane.run, self._wait_with_others)

    def drain(self) -> None:
        """Claim nothing more; `run` returns when what was claimed is settled."""
        self.stopping = True
        self.mailbox.wake()
        self._idle.wake_all()

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        trigger, in_flight, batch_size = self.trigger, 0, 1
        for lane in self._lanes:
            in_flight += lane.in_flight
            batch_size = max(batch_size, lane.size.current)
        return {
            "queue": trigger.queue_name,
            "app": trigger.app_name,
            "script": trigger.script_name,
            "script_version": trigger.script_version,
            "in_flight": in_flight,
            "batch_size": batch_size,
            "processed": self.processed,
            "failed": self.failed,
            "dead_lettered": self.dead_lettered,
            "leases_lost": self.leases_lost,
            "last_message_at": self.last_message_at,
            "paused": self.paused,
            "draining": self.stopping,
        }

    # --- what the lanes report

    def retry_wait_ms(self, message: Message) -> float:
        """Return after how many milliseconds a failed message is tried again."""
        return float(compute_backoff(message.attempt, self.trigger.retry_backoff, self.trigger.retry_base_ms))

    def limit(self, lane: Lane[Message, LowWater]) -> int:
        """Return how much a lane may claim: as much as its handlers get through in time."""
        return lane.size.current

    def pulled(self, pulled: Pulled[Message], limit: int) -> None:
        """Note whether the queue is paused; look again when its rate allows; let other lanes look for what is left."""
        self.paused = pulled.paused
        if pulled.retry_in is not None:
            self._on_retry(pulled.retry_in)
        if pulled.messages and len(pulled.messages) == limit:
            self._idle.wake()

    def settled(self, verdict: Verdict[Message], acked: int) -> None:
        """Count what was acknowledged, and wake those who wait for its effects."""
        self.processed += acked
        self.leases_lost += len(verdict.done) - acked
        for messages in verdict.sent.values():
            self._on_sent(messages)

    def committed(self, app_id: AppId, count: int, committed: Committed) -> None:
        """Count what was acknowledged on its own, and wake those who wait for its effects."""
        self.processed += len(committed.done)
        self.leases_lost += count - len(committed.done) - len(committed.refused)
        if committed.messages:
            self._on_sent(committed.messages)
        if committed.invocations:
            self._on_outbox()

    def gave_up(self, verdict: Verdict[Message]) -> None:
        """Count failures, and set timers for those tried again."""
        self.failed += len(verdict.retry_ms) + len(verdict.dead) + len(verdict.discarded)
        self.dead_lettered += len(verdict.dead)
        if verdict.dead:
            self._on_outbox()
        if verdict.retry_ms:
            self._on_retry(min(wait for _, wait in verdict.retry_ms) / 1000)

    async def note_fired(self) -> None:
        """Note that messages were handled; written to the database now and then."""
        self.last_message_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        if time.monotonic() - self._touched >= self._config.touch_interval:
            self._touched = time.monotonic()
            await self.store.touch()

    async def _wait_for_message(self) -> bool:
        await self.mailbox.wait()
        return True

    async def _wait_with_others(self) -> bool:
        if not self.stopping:
            await self._idle.wait()
        return True

    async def _listen(self) -> None:
        """Pass wakes on: the lane that would hear them may be held by a slow handler."""
        while not self.stopping:
            await self.mailbox.wait()
            self._idle.wake()


class IdleLanes:
    """Lanes of one queue that have nothing to do. A wake is for one of them, which wakes the next if it finds work."""

    def __init__(self) -> None:
        self._lot = trio.lowlevel.ParkingLot()
        self._is_due = False

    def wake(self) -> None:
        """Wake one; if none waits, the first that would wait looks again."""
        if not self._lot.unpark():
            self._is_due = True

    def wake_all(self) -> None:
        self._lot.unpark_all()

    async def wait(self) -> None:
        if self._is_due:
            self._is_due = False
            await trio.lowlevel.checkpoint()
        else:
            await self._lot.park()
