"""Consumer: pulls the messages of one queue, has them handled, and settles them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import trio

from picloud.actors.lane import ConsumerConfig, Handle, Lane, QueueStore
from picloud.actors.runtime import HealthGauge, WakeMailbox
from picloud.actors.settling import Verdict
from picloud.db.messages import Settlement
from picloud.db.units import Committed
from picloud.types import NewMessage, QueueTrigger


class Consumer:
    """Handle the messages of one queue.

    Pipeline: one statement settles the last batch and claims the next while a worker thread runs the one between.
    Handlers' errors are data; an outage is waited out with all that is to be settled in hand; only a bug ends `run`.
    """

    def __init__(
        self,
        trigger: QueueTrigger,
        store: QueueStore,
        handle: Handle,
        wake: WakeMailbox,
        config: ConsumerConfig,
        *,
        on_sent: Callable[[Sequence[NewMessage]], None],
        on_retry: Callable[[float], None],
        on_outbox: Callable[[], None] = lambda: None,
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
        self.handle = handle
        self.config = config
        self._on_sent = on_sent
        self._on_retry = on_retry
        self._on_outbox = on_outbox
        self._lanes: list[Lane] = []
        self._more = trio.Event()
        self._touched = 0.0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Consume until asked to drain; then finish what runs, settle it, and give the rest back."""
        self.stopping = False
        self._lanes = [Lane(self) for _ in range(self.trigger.concurrency)]
        task_status.started()
        if len(self._lanes) == 1:
            # no nursery: ten thousand idle consumers should cost little
            await self._lanes[0].run(self._wait_for_message)
            return
        async with trio.open_nursery() as nursery:
            for lane in self._lanes[1:]:
                nursery.start_soon(lane.run, self._wait_for_more)
            await self._lanes[0].run(self._wait_for_message)

    def drain(self) -> None:
        """Claim nothing more; `run` returns when what was claimed is settled."""
        self.stopping = True
        self.mailbox.wake()
        self._more.set()

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

    def settled(self, settlement: Settlement, acked: int) -> None:
        """Count what was acknowledged, and wake those who wait for its effects."""
        self.processed += acked
        self.leases_lost += len(settlement.done) - acked
        if settlement.effects:
            self._on_sent([effect.message for effect in settlement.effects])

    def committed(self, count: int, committed: Committed) -> None:
        """Count what was acknowledged on its own, and wake those who wait for its effects."""
        self.processed += len(committed.done)
        self.leases_lost += count - len(committed.done) - len(committed.refused)
        if committed.messages:
            self._on_sent(committed.messages)
        if committed.invocations:
            self._on_outbox()

    def gave_up(self, verdict: Verdict) -> None:
        """Count failures, and set timers for those tried again."""
        self.failed += len(verdict.retry_ms) + len(verdict.dead) + len(verdict.discarded)
        self.dead_lettered += len(verdict.dead)
        if verdict.dead:
            self._on_outbox()
        if verdict.retry_ms:
            self._on_retry(min(wait for _, wait in verdict.retry_ms) / 1000)

    def look_again(self, seconds: float) -> None:
        """Set a timer: the queue's rate holds messages back."""
        self._on_retry(seconds)

    def found_more(self) -> None:
        """Let the other lanes look: the queue holds more than one batch."""
        more, self._more = self._more, trio.Event()
        more.set()

    async def note_fired(self) -> None:
        """Note that messages were handled; written to the database now and then."""
        self.last_message_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        if time.monotonic() - self._touched >= self.config.touch_interval:
            self._touched = time.monotonic()
            await self.store.touch()

    async def _wait_for_message(self) -> bool:
        await self.mailbox.wait()
        return True

    async def _wait_for_more(self) -> bool:
        if not self.stopping:
            await self._more.wait()
        return True
