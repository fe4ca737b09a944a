"""time and datetime."""

from __future__ import annotations

import datetime
import time
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Any, Final

from picloud.engine.sandbox.attributes import CLASS_FUNCTIONS
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.records import Record
from picloud.engine.sandbox.sizes import bounded, sized_result
from picloud.engine.sandbox.text import check_date_pattern


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


MAX_ZONE_NAME: Final = 100


class TimeTuple(Record):
    """What gmtime() and localtime() give."""

    __slots__ = ()
    _fields_ = ("tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "tm_yday", "tm_isdst")


TimeTuple.__name__ = TimeTuple.__qualname__ = "time.struct_time"


def to_zone(key: Any, /) -> zoneinfo.ZoneInfo:
    """zoneinfo.ZoneInfo."""
    if type(key) is not str:
        raise TypeError(f"a time zone's name must be text, not {type(key).__name__}")
    try:
        if len(key) <= MAX_ZONE_NAME:
            return zoneinfo.ZoneInfo(key)
    except (ValueError, OSError, LookupError):
        pass  # the text may name a path
    raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key[:MAX_ZONE_NAME]}")


def _time_tuple(name: str) -> Callable[..., TimeTuple]:
    convert = getattr(time, name)

    def apply(seconds: float | None = None, /) -> TimeTuple:
        return TimeTuple(tuple(convert(clock() if seconds is None else seconds)))

    apply.__name__ = name
    return apply


_local_time: Final = _time_tuple("localtime")


def format_time(pattern: Any, moment: Any = None, /) -> str:
    """time.strftime."""
    if moment is None:
        moment = _local_time()
    elif type(moment) not in (tuple, TimeTuple):
        raise TypeError("Tuple or struct_time argument required")
    check_date_pattern(pattern)
    return sized_result(time.strftime(pattern, tuple(bounded(moment, 9))))  # type: ignore[no-any-return]


def make_time(moment: Any, /) -> float:
    """time.mktime."""
    if type(moment) not in (tuple, TimeTuple):
        raise TypeError("Tuple or struct_time argument required")
    return time.mktime(tuple(bounded(moment, 9)))


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
    "zoneinfo": {"ZoneInfo": to_zone, "ZoneInfoNotFoundError": zoneinfo.ZoneInfoNotFoundError},
    "time": {
        "time": clock,
        "time_ns": lambda: int(clock() * 1e9),
        "sleep": sleep,
        "gmtime": _time_tuple("gmtime"),
        "localtime": _local_time,
        "mktime": make_time,
        "strftime": format_time,
        **{name: getattr(time, name) for name in "monotonic monotonic_ns perf_counter perf_counter_ns".split()},
    },
    "datetime": {
        "datetime": datetime.datetime,
        "date": datetime.date,
        "time": datetime.time,
        "timedelta": datetime.timedelta,
        "timezone": datetime.timezone,
        "UTC": datetime.UTC,
    },
}
