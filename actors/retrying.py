"""Work through an outage of the database: retry in place, say so, never crash the actor."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from picloud.actors.runtime import HealthGauge
from picloud.errors import DatabaseUnavailable

T = TypeVar("T")

FIRST_WAIT = 0.1
"""Seconds."""
LONGEST_WAIT = 5.0
"""Seconds; a database that comes back is noticed within this."""


class OutageBackoff:
    """Waits between tries during one outage; each longer than the last, with jitter so that nodes spread out."""

    def __init__(self, health: HealthGauge) -> None:
        self._health = health
        self._wait = FIRST_WAIT

    def ok(self, trouble: str | None = None) -> None:
        """Note that the database answered, and what else is wrong, if anything."""
        self._wait = FIRST_WAIT
        if trouble is None:
            self._health.ok()
        else:
            self._health.degraded(trouble)

    async def wait(self, error: DatabaseUnavailable) -> None:
        """Show the outage and wait before the next try."""
        self._health.degraded(error)
        await trio.sleep(self._wait * random.uniform(0.7, 1.3))
        self._wait = min(self._wait * 2, LONGEST_WAIT)


async def retry_outages(work: Callable[[], Awaitable[T]], health: HealthGauge) -> T:
    """Return what `work` returns, tried again until no outage stops it."""
    backoff = OutageBackoff(health)
    while True:
        try:
            result = await work()
        except DatabaseUnavailable as error:
            await backoff.wait(error)
        else:
            backoff.ok()
            return result
