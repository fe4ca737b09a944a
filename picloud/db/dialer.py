"""Open connections so that a server that is away, or just back, is not overrun."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from picloud.backoff import compute_backoff
from picloud.db.connection import Connection
from picloud.errors import DatabaseMisconfigured, DatabaseUnavailable

BACKOFF_BASE_MS = 50
BACKOFF_DOUBLINGS = 6
"""50 ms doubled six times at most: 1.6 s ± jitter between attempts, however long the outage lasts."""
JITTER_PCT = 25


class Dialer:
    """Connect for many waiting tasks: freely while it works, one attempt at a time with backoff after a failure."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._connect = connect
        self._turn = trio.Lock()
        self._failures_in_a_row = 0
        self._next_attempt = 0.0
        self.connects = 0
        self.failures = 0
        self.degraded_since: float | None = None
        """When the first of the failures in a row happened (trio's clock); None while connecting works."""
        self.last_error: str | None = None

    async def dial(self) -> Connection:
        """Return a new connection, however long it takes; the caller sets the deadline.

        Raises: DatabaseMisconfigured, unless connecting has worked before: then it is an outage like any other.
        """
        while True:
            if not self._failures_in_a_row:
                connection = await self._attempt()
            else:
                async with self._turn:
                    connection = await self._attempt_after_backoff()
            if connection is not None:
                return connection

    async def _attempt_after_backoff(self) -> Connection | None:
        # the one before us in the queue may have got through: then there is nothing to wait for
        if self._failures_in_a_row:
            await trio.sleep_until(self._next_attempt)
        return await self._attempt()

    async def _attempt(self) -> Connection | None:
        try:
            connection = await self._connect()
        except DatabaseMisconfigured as error:
            self._note_failure(error)
            if not self.connects:
                raise
            return None
        except DatabaseUnavailable as error:
            self._note_failure(error)
            return None
        self.connects += 1
        self.note_health()
        return connection

    def note_health(self) -> None:
        """Forget the failures in a row: the server has answered."""
        self._failures_in_a_row = 0
        self.degraded_since = None

    def note_outage(self, error: Exception) -> None:
        """Remember that a statement met an outage."""
        self.last_error = str(error)
        if self.degraded_since is None:
            self.degraded_since = trio.current_time()

    def _note_failure(self, error: Exception) -> None:
        self.note_outage(error)
        self.failures += 1
        self._failures_in_a_row += 1
        doublings = min(self._failures_in_a_row, BACKOFF_DOUBLINGS)
        wait_ms = compute_backoff(doublings, "exponential", BACKOFF_BASE_MS, JITTER_PCT)
        self._next_attempt = trio.current_time() + wait_ms / 1000
