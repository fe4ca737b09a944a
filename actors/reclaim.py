"""Reclaim: messages whose lease ran out go back to their queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import psycopg
import trio

from picloud.actors.runtime import HealthGauge
from picloud.db.messages import ReclaimedQueue
from picloud.errors import DatabaseUnavailable

ReclaimBatch = Callable[[int], Awaitable[list[ReclaimedQueue]]]
"""Reclaims up to so many messages and says where."""


@dataclass(frozen=True, slots=True)
class ReclaimConfig:
    """How often and how much."""

    interval: float = 30.0
    """Seconds between two sweeps."""
    batch_size: int = 1000
    """Messages per statement; a sweep goes on until a batch comes back short."""


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """What one sweep did."""

    released: int = 0
    dead: int = 0
    queues: Sequence[ReclaimedQueue] = ()


class Reclaim:
    """Give messages whose lease has expired back to their queue, or to the dead letters when no attempt is left."""

    def __init__(
        self,
        reclaim_batch: ReclaimBatch,
        config: ReclaimConfig,
        *,
        on_released: Callable[[ReclaimedQueue], None] = lambda queue: None,
    ) -> None:
        self._reclaim_batch = reclaim_batch
        self._config = config
        self._on_released = on_released
        self.last = Reclaimed()
        self.total_released = 0
        self.total_dead = 0
        self.health = HealthGauge()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Sweep every `interval` seconds; what goes wrong is shown and tried again at the next tick.

        Also a statement that the server cuts short (its own time limit, a deadlock): recovery must not end for that.
        """
        task_status.started()
        while True:
            try:
                self.last = await self.sweep()
                self.health.ok()
            except (DatabaseUnavailable, psycopg.Error) as error:
                self.health.degraded(error)
            await trio.sleep(self._config.interval)

    async def sweep(self) -> Reclaimed:
        """Reclaim batches until one comes back short; return what was done."""
        queues: list[ReclaimedQueue] = []
        while True:
            batch = await self._reclaim_batch(self._config.batch_size)
            for queue in batch:
                self.total_released += queue.released
                self.total_dead += queue.dead
                if queue.released:
                    self._on_released(queue)
            queues += batch
            if sum(q.released + q.dead for q in batch) < self._config.batch_size:
                return Reclaimed(sum(q.released for q in queues), sum(q.dead for q in queues), tuple(queues))

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        return {
            "interval": self._config.interval,
            "last_released": self.last.released,
            "last_dead": self.last.dead,
            "released": self.total_released,
            "dead": self.total_dead,
        }
