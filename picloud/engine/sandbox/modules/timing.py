"""time and datetime."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from typing import Any, Final

from picloud.engine.sandbox.attributes import CLASS_FUNCTIONS
from picloud.engine.sandbox.meter import current_meter


def sleep(seconds: float) -> None:
    """time.sleep, which ends when the execution is stopped."""
    if type(seconds) not in (int, float):
        raise TypeError("sleep() needs a number of seconds")
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    current_meter().sleep(float(min(seconds, 1e6)))


def clock() -> float:
    """time.time: the clock of the execution, which a test may set."""
    return current_meter().clock()


def now(tz: datetime.tzinfo | None = None) -> datetime.datetime:
    """datetime.now."""
    return datetime.datetime.fromtimestamp(clock(), tz)


def utc_now() -> datetime.datetime:
    """datetime.utcnow: without a time zone."""
    return now(datetime.UTC).replace(tzinfo=None)


def today() -> datetime.date:
    """date.today."""
    return now().date()


CLASS_FUNCTIONS[datetime.datetime] = {"now": now, "today": lambda: now(), "utcnow": utc_now}
CLASS_FUNCTIONS[datetime.date] = {"today": today}

TIMING: Final[Mapping[str, Mapping[str, Any]]] = {
    "time": {"time": clock, "monotonic": time.monotonic, "perf_counter": time.perf_counter, "sleep": sleep},
    "datetime": {
        "datetime": datetime.datetime,
        "date": datetime.date,
        "time": datetime.time,
        "timedelta": datetime.timedelta,
        "timezone": datetime.timezone,
        "UTC": datetime.UTC,
    },
}
