"""Cron: fire the triggers that are due. Every node does so; the database keeps it to one fire per time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import trio

from picloud.actors.retrying import OutageBackoff
from picloud.actors.runtime import HealthGauge, WakeMailbox
from picloud.db.cron_fires import Fired
from picloud.errors import DatabaseUnavailable
from picloud.types import TriggerId


class CronStore(Protocol):
    """What cron asks of the database. Each may raise DatabaseUnavailable."""

    async def fire(self, limit: int, except_ids: Collection[TriggerId]) -> Fired: ...

    async def next_due(self, except_ids: Collection[TriggerId]) -> float | None: ...

    async def prune(self, older_than: float, limit: int) -> int: ...


@dataclass(frozen=True, slots=True)
class CronConfig:
    """Durations are seconds."""

    poll_interval: float = 1.0
    """How long it sleeps at most: the database's clock may be set, and triggers may be changed by hand."""
    overdue_wait: float = 0.1
    """How long it leaves what another node holds to that node."""
    batch_size: int = 500
    """Triggers of one transaction."""
    broken_retry: float = 60.0
    """After how long a trigger that this node cannot read is looked at again."""
    keep: float = 3 * 86_400.0
    """How long it is remembered what was fired for."""
    prune_interval: float = 3600.0
    prune_batch: int = 10_000


@dataclass(frozen=True, slots=True)
class CronRound:
    """What one look did."""

    triggers: int = 0
    fires: int = 0
    left_out: int = 0
    """Triggers that missed times which their policy does not make up for."""
    latest_ms: float = 0.0
    """How late the latest was, of those that were fired for."""


class Cron:
    """Sleep until the next trigger is due, by the database's clock, and fire all that are."""

    def __init__(
        self, store: CronStore, wake: WakeMailbox, config: CronConfig, *, on_fired: Callable[[Fired], None]
    ) -> None:
        self.mailbox = wake
        self.health = HealthGauge()
        self.last = CronRound()
        """The last look that found something."""
        self.fired = self.left_out = 0
        self.next_due_in: float | None = None
        self._store = store
        self._config = config
        self._on_fired = on_fired
        self._broken: dict[TriggerId, str] = {}
        self._broken_until = 0.0
        self._prune_at = 0.0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Fire until cancelled; an outage is waited out, and what was due in it is caught up with by each policy."""
        task_status.started()
        backoff = OutageBackoff(self.health)
        while True:
            try:
                self.next_due_in = await self.look()
            except DatabaseUnavailable as error:
                await backoff.wait(error)
                continue
            backoff.ok(next(iter(self._broken.values()), None))
            await self.mailbox.wait(timeout=self._rest())

    async def look(self) -> float | None:
        """Fire what is due; return in how many seconds the next is. One statement where nothing is due."""
        if trio.current_time() >= self._broken_until:
            self._broken.clear()
        due_in = await self._store.next_due(self._broken)
        if due_in is not None and due_in <= 0:
            await self.fire()
            due_in = await self._store.next_due(self._broken)
        await self._prune()
        return due_in

    async def fire(self) -> CronRound:
        """Fire batches until one comes back short; return what was done."""
        triggers = fires = left_out = 0
        latest = 0.0
        while True:
            batch = await self._store.fire(self._config.batch_size, self._broken)
            self._note_broken(batch)
            if batch.fires:
                self._on_fired(batch)
            triggers += batch.triggers
            fires += batch.fires
            left_out += batch.left_out
            latest = max(latest, batch.latest)
            if batch.triggers < self._config.batch_size:
                break
        self.fired += fires
        self.left_out += left_out
        done = CronRound(triggers, fires, left_out, round(latest * 1000, 1))
        if triggers:
            self.last = done
        return done

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        return {
            "fired": self.fired,
            "left_out": self.left_out,
            "next_due_in": self.next_due_in,
            "last_fires": self.last.fires,
            "last_latest_ms": self.last.latest_ms,
            "broken": len(self._broken),
        }

    def _note_broken(self, batch: Fired) -> None:
        if batch.broken and not self._broken:
            self._broken_until = trio.current_time() + self._config.broken_retry
        self._broken |= {trigger_id: f"trigger {trigger_id}: {why}" for trigger_id, why in batch.broken.items()}

    def _rest(self) -> float:
        if self.next_due_in is None:
            return self._config.poll_interval
        if self.next_due_in <= 0:
            return self._config.overdue_wait
        return min(self.next_due_in, self._config.poll_interval)

    async def _prune(self) -> None:
        if trio.current_time() < self._prune_at:
            return
        while await self._store.prune(self._config.keep, self._config.prune_batch) == self._config.prune_batch:
            pass
        self._prune_at = trio.current_time() + self._config.prune_interval
