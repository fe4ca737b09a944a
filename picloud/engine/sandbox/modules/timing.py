"""time and datetime."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from typing import Any, Final

from picloud.engine.sandbox.meter import current_meter


def sleep(seconds: float) -> None:
    """time.sleep, which ends when the execution is stopped."""
    if type(seconds) not in (int, float):
        raise TypeError("sleep() needs a number of seconds")
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    current_meter().sleep(float(min(seconds, 1e6)))


TIMING: Final[Mapping[str, Mapping[str, Any]]] = {
    "time": {"time": time.time, "monotonic": time.monotonic, "perf_counter": time.perf_counter, "sleep": sleep},
    "datetime": {
        "datetime": datetime.datetime,
        "date": datetime.date,
        "time": datetime.time,
        "timedelta": datetime.timedelta,
        "timezone": datetime.timezone,
        "UTC": datetime.UTC,
    },
}
