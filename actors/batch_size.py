"""How many messages a consumer claims at once."""

from __future__ import annotations

GROWTH = 4
"""At most so many times larger from one batch to the next."""
SHORTEST = 1e-9
"""Seconds; no clock is finer."""


class BatchSize:
    """Find the batch size from what handlers cost: 1 for slow ones, hundreds for fast ones.

    It grows only while a whole batch fits well within the time slice and a quarter of the visibility timeout, so that
    no message waits claimed behind a slow one.
    """

    __slots__ = ("_fits", "current", "largest")

    def __init__(self, largest: int, *, slice_secs: float, visibility_timeout: float) -> None:
        self.largest = largest
        self.current = 1
        self._fits = min(slice_secs / 2, visibility_timeout / 4)

    def ran(self, count: int, seconds: float) -> None:
        """Note that `count` messages took `seconds` of a worker thread."""
        if count == 0:
            return
        wanted = min(self._fits * count / max(seconds, SHORTEST), self.largest)
        self.current = max(1, min(int(wanted), self.current * GROWTH))
