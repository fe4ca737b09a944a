"""Database: the node's view of PostgreSQL, probed all the time; an outage is shown, never a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from picloud.actors.runtime import HealthGauge
from picloud.db.pool import Pool
from picloud.errors import DatabaseUnavailable, EmbeddedPostgresError


class Database:
    """Probe the pool; where the server is the embedded one, start it again when it died."""

    def __init__(
        self, pool: Pool, *, probe_interval: float = 2.0, revive: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._pool = pool
        self._probe_interval = probe_interval
        self._revive = revive
        self._round_trip: float | None = None
        self.health = HealthGauge()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Probe every `probe_interval` seconds."""
        task_status.started()
        while True:
            await self.probe()
            await trio.sleep(self._probe_interval)

    async def probe(self) -> bool:
        """Ask the database one question; return whether it answered."""
        try:
            self._round_trip = await self._pool.ping()
        except DatabaseUnavailable as error:
            self.health.degraded(error)
            if self._revive is not None:
                await self._try_to_revive()
            return False
        self.health.ok()
        return True

    async def _try_to_revive(self) -> None:
        assert self._revive is not None
        try:
            await self._revive()
        except EmbeddedPostgresError as error:
            self.health.degraded(error)

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        pool = self._pool.statistics()
        return {
            "round_trip_ms": None if self._round_trip is None else round(self._round_trip * 1000, 3),
            "pool": {"size": pool.size, "idle": pool.idle, "in_use": pool.in_use, "waiting": pool.waiting},
        }
