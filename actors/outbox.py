"""Outbox: deliver events that wait for a script: dead letters to the triggers that want them, and `invoke_async`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import psycopg
import trio

from picloud.actors.crew import Crew
from picloud.actors.lane import Handle, Lane, LaneConfig, LaneStore, Ran
from picloud.actors.recording import Amend, keep_as_recorded
from picloud.actors.retrying import retry_outages
from picloud.actors.runtime import HealthGauge, WakeMailbox
from picloud.actors.settling import Verdict
from picloud.backoff import compute_backoff
from picloud.db.messages import Pulled
from picloud.db.outbox import Delivery, Rotation
from picloud.db.units import Committed
from picloud.types import AppId, NewMessage


class OutboxStore(LaneStore[Delivery, Rotation], Protocol):
    """What the outbox asks of the database."""

    async def reclaim(self, timeout_secs: float, limit: int) -> tuple[int, int]:
        """Give back what died with its node; return how many are tried again, and how many are dead."""


@dataclass(frozen=True, slots=True)
class OutboxConfig:
    """Durations are seconds."""

    poll_interval: float = 1.0
    """How often due rows are looked for that nobody told of: retries, and other nodes' rows."""
    lease: float = 60.0
    """What was claimed longer ago belongs to a node that died; the leases of what runs are extended."""
    reclaim_interval: float = 30.0
    reclaim_batch: int = 1000
    batch_size: int = 200
    """At most so many at once: when a node dies, what it has claimed has used up an attempt."""
    concurrency: int = 8
    """How many slow handlers run at once on this node."""
    patience: float = 0.1
    """How long one batch may hold the first lane up before others help."""
    slice_secs: float = 0.05
    settle_timeout: float = 5.0
    """How long the last settlement may take at shutdown."""


class Outbox:
    """Deliver due rows, the apps in turn, and settle them with their effects, as consumers do with messages."""

    def __init__(
        self,
        store: OutboxStore,
        handle: Handle[Delivery],
        wake: WakeMailbox,
        config: OutboxConfig,
        *,
        on_sent: Callable[[AppId, Sequence[NewMessage]], None],
        on_outbox: Callable[[], None],
        amend: Amend = keep_as_recorded,
    ) -> None:
        self.store = store
        self.amend = amend
        self.mailbox = wake
        self.health = HealthGauge()
        self.stopping = False
        self.delivered = self.failed = self.dead = self.leases_lost = self.reclaimed = 0
        self._handle = handle
        self._config = config
        self._on_sent = on_sent
        self._on_outbox = on_outbox
        self._closed = False
        self._left = trio.Event()
        self._lanes: list[Lane[Delivery, Rotation]] = []
        self._crew = self._make_crew()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Deliver until asked to drain; then finish what runs, settle it, and give the rest back."""
        self.stopping, self._left = self._closed, trio.Event()
        self._crew = self._make_crew()
        self._lanes = [self._make_lane(number) for number in range(self._config.concurrency)]
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._reclaim)
            nursery.start_soon(self._call)
            async with trio.open_nursery() as working:
                for number in range(len(self._lanes)):
                    working.start_soon(self._work, number)
            # closed, not asked to end yet
            await self._left.wait()
            nursery.cancel_scope.cancel()

    def close(self) -> None:
        """Claim nothing more, also after a restart; what was claimed is settled."""
        self._closed = self.stopping = True
        self._crew.call_all()

    def drain(self) -> None:
        """Claim nothing more; `run` returns when what was claimed is settled."""
        self.stopping = True
        self._left.set()
        self._crew.call_all()

    async def sweep(self) -> tuple[int, int]:
        """Reclaim batches until one comes back short; return how many are tried again, and how many are dead."""
        released = dead = 0
        while True:
            batch = await self.store.reclaim(self._config.lease, self._config.reclaim_batch)
            released, dead = released + batch[0], dead + batch[1]
            if sum(batch) < self._config.reclaim_batch:
                break
        self.reclaimed += released
        self.dead += dead
        if released or dead:
            # the dead fan out
            self._on_outbox()
        return released, dead

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        return {
            "in_flight": sum(lane.in_flight for lane in self._lanes),
            "batch_size": self._lanes[0].size.current if self._lanes else 1,
            "delivered": self.delivered,
            "failed": self.failed,
            "dead_lettered": self.dead,
            "leases_lost": self.leases_lost,
            "reclaimed": self.reclaimed,
            "draining": self.stopping,
        }

    # --- what the lanes report

    def retry_wait_ms(self, delivery: Delivery) -> float:
        """Return after how many milliseconds a failed delivery is tried again: its trigger says so."""
        return float(compute_backoff(delivery.attempt, delivery.retry_backoff, delivery.retry_base_ms))

    def limit(self, lane: Lane[Delivery, Rotation]) -> int:
        """Return how much a lane may claim; nothing where the first can do it alone."""
        helps = lane is not self._lanes[0]
        return 0 if helps and not self._crew.needs_help() else lane.size.current

    def pulled(self, pulled: Pulled[Delivery], limit: int) -> None:
        """Call another lane where there is more than one batch."""
        if pulled.messages and len(pulled.messages) >= limit:
            self._crew.call()

    def settled(self, verdict: Verdict[Delivery], acked: int) -> None:
        """Count what was acknowledged, and wake those who wait for its effects."""
        self.delivered += acked
        self.leases_lost += len(verdict.done) - acked
        for app_id, messages in verdict.sent.items():
            self._on_sent(app_id, messages)

    def committed(self, app_id: AppId, count: int, committed: Committed) -> None:
        """Count what was acknowledged on its own, and wake those who wait for its effects."""
        self.delivered += len(committed.done)
        self.leases_lost += count - len(committed.done) - len(committed.refused)
        if committed.messages:
            self._on_sent(app_id, committed.messages)
        if committed.invocations:
            self._on_outbox()

    def gave_up(self, verdict: Verdict[Delivery]) -> None:
        """Count failures; the dead fan out to their app's triggers."""
        self.failed += len(verdict.retry_ms) + len(verdict.dead) + len(verdict.discarded)
        self.dead += len(verdict.dead)
        if verdict.dead:
            self._on_outbox()
        if verdict.untried:
            self._crew.call()

    async def note_fired(self) -> None:
        """Nobody keeps the time."""

    # --- tasks

    def _make_crew(self) -> Crew:
        return Crew(
            self._config.concurrency,
            patience=self._config.patience,
            batch_size=lambda: self._lanes[0].size.current if self._lanes else 1,
        )

    def _make_lane(self, number: int) -> Lane[Delivery, Rotation]:
        config = self._config
        return Lane(
            self,
            partial(self._run_batch, number),
            Rotation(left_out=partial(self._crew.crowding, number)),
            LaneConfig(
                lease=config.lease,
                batch_size=config.batch_size,
                slice_secs=config.slice_secs,
                settle_timeout=config.settle_timeout,
                shares=True,
            ),
        )

    async def _work(self, number: int) -> None:
        if number:
            await self._wait(number)
        await self._lanes[number].run(partial(self._wait, number))

    async def _wait(self, number: int) -> bool:
        if not self.stopping:
            await self._crew.wait(number)
        return True

    async def _run_batch(self, number: int, deliveries: Sequence[Delivery]) -> Ran:
        with self._crew.running(number, (delivery.app_id for delivery in deliveries)):
            return await self._handle(deliveries)

    async def _call(self) -> None:
        """Have lanes look at each wake and now and then; sooner while one of them may need help."""
        while True:
            config = self._config
            await self.mailbox.wait(timeout=config.poll_interval if self._crew.is_idle else config.patience)
            self._crew.call()

    async def _reclaim(self) -> None:
        while True:
            try:
                await retry_outages(self.sweep, self.health)
            except psycopg.Error as error:
                # the server cut it short (its own time limit, a deadlock): tried again at the next tick
                self.health.degraded(error)
            await trio.sleep(self._config.reclaim_interval)
