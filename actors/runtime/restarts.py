"""When to restart: restart types, restart intensity and backoff."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from picloud.actors.runtime.errors import InvalidSpec
from picloud.actors.runtime.exits import Exit
from picloud.actors.runtime.spec import Restart

MAX_EXPONENT = 62
"""2^62 is past every cap: a larger exponent would only overflow a float at last."""


def should_restart(restart: Restart, ended: Exit) -> bool:
    """Tell whether a child that ended unasked is to be started again."""
    return restart == "permanent" or (restart == "transient" and ended.reason == "error")


class RestartWindow:
    """Restart times of the last `max_seconds`: OTP's restart intensity.

    Units: seconds of Trio's clock, which is monotonic.
    """

    __slots__ = ("max_restarts", "max_seconds", "times")

    def __init__(self, max_restarts: int, max_seconds: float) -> None:
        self.max_restarts = max_restarts
        self.max_seconds = max_seconds
        self.times: deque[float] = deque()

    def admit(self) -> bool:
        """Note one more restart; return False if it is one too many."""
        self.times.append(trio.current_time())
        return self.count() <= self.max_restarts

    def count(self) -> int:
        """Return the number of restarts in the period that ends now."""
        oldest = trio.current_time() - self.max_seconds
        while self.times and self.times[0] < oldest:
            self.times.popleft()
        return len(self.times)

    def clear(self) -> None:
        """Forgive all restarts."""
        self.times.clear()


def check_intensity(max_restarts: int, max_seconds: float) -> None:
    """Refuse settings of restart intensity that cannot work."""
    if max_restarts < 0 or max_seconds <= 0:
        raise InvalidSpec("max_restarts is a number from 0, max_seconds one above 0")


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before restart `n`: base·2^(n-1), at most `cap`, then ± the share `jitter`.

    Units: seconds.
    """

    base: float = 0.1
    cap: float = 30.0
    jitter: float = 0.1
    draw: Callable[[], float] = field(default=random.random, repr=False)
    """A number from 0 to 1; spreads children that failed together."""

    def __post_init__(self) -> None:
        if self.base < 0 or self.cap < self.base or not 0 <= self.jitter <= 1:
            raise InvalidSpec("backoff needs 0 <= base <= cap and a jitter from 0 to 1")

    def compute_delay(self, attempt: int) -> float:
        """Return the seconds to wait before restart `attempt`, which counts from 1."""
        delay = min(self.cap, self.base * 2.0 ** min(max(attempt, 1) - 1, MAX_EXPONENT))
        return delay * (1 + self.jitter * (2 * self.draw() - 1))
