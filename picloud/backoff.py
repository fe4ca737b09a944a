"""The one backoff computation, shared by queue nacks, the outbox and `retry`."""

from __future__ import annotations

import time
from typing import get_args

from picloud.types import BackoffShape

MAX_BACKOFF_MS = 3_600_000
"""No wait is longer than an hour, however many attempts went before."""

SHAPES: tuple[str, ...] = get_args(BackoffShape)


def compute_backoff(attempt: int, shape: BackoffShape, base_ms: int, jitter_pct: int = 10) -> int:
    """Return how long to wait after failed attempt `attempt`.

    Shape: exponential base·2^(attempt-1), linear base·attempt, constant base; then ± `jitter_pct` percent.
    Units: milliseconds in and out; never negative, never above `MAX_BACKOFF_MS`.
    Raises: ValueError for an unknown shape.
    """
    steps = max(1, attempt)
    if shape == "exponential":
        # 2^32 ms is far past the cap: larger exponents only make larger integers
        wait = base_ms << min(steps - 1, 32)
    elif shape == "linear":
        wait = base_ms * steps
    elif shape == "constant":
        wait = base_ms
    else:
        raise ValueError(f"unknown backoff {shape!r} (use exponential, linear or constant)")
    wait = min(wait, MAX_BACKOFF_MS)
    spread = wait * max(0, min(jitter_pct, 100)) // 100
    if spread:
        # the clock's low digits are random enough to spread a herd, and cost no random source
        wait += time.perf_counter_ns() // 64 % (2 * spread + 1) - spread
    return max(0, min(wait, MAX_BACKOFF_MS))
