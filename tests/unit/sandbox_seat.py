"""One execution without an engine: a thread's seat at the watchdog, and a meter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from picloud.engine.sandbox import Limits, Meter, Watchdog

T = TypeVar("T")


def run_metered(work: Callable[[Meter], T]) -> T:
    """Return what `work` gives in a seat, under a meter with the default limits."""
    meter, watchdog = Meter(Limits()), Watchdog()
    try:
        with watchdog.seat() as seat:
            return seat.run(meter, work, meter)
    finally:
        watchdog.close()
