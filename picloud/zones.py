"""Time zones as a schedule needs them: by IANA name, and cut into spans in which the clock is not changed."""

from __future__ import annotations

import functools
import itertools
import zoneinfo
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from picloud.config import suggest
from picloud.errors import InvalidInput

DEFAULT_ZONE = "UTC"
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_NOT_A_PLACE = {"localtime", "Factory"}
"""The first is another zone on each machine, the second none."""
LAST_YEAR = 9990
"""Python's dates end with 9999."""


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` until `end` the zone's clock is `offset` ahead of UTC. Times have no tzinfo and are UTC.

    `before` is the offset up to `start`: with a smaller one the clock was put forward, with a larger one back.
    """

    start: datetime
    end: datetime
    offset: timedelta
    before: timedelta


def find_zone(name: object) -> ZoneInfo:
    """Return the time zone of that IANA name. Raises: InvalidInput that names one like it."""
    if not isinstance(name, str):
        raise InvalidInput(f"timezone: must be a name such as 'Europe/Berlin', not {name!r:.60}", pointer="/timezone")
    known = _names()
    if name not in known:
        hint = _suggest_city(name, known) or suggest(name, known) or suggest(name.title(), known)
        raise InvalidInput(
            f"timezone: no time zone {name!r:.80}{hint}; write an IANA name such as 'Europe/Berlin' or 'UTC'",
            pointer="/timezone",
        )
    return ZoneInfo(name)


def list_spans(zone: ZoneInfo, since: datetime) -> Iterator[Span]:
    """Yield the spans from the one that holds `since` on; a year's end ends a span, too, where nothing changes."""
    year = since.year - 1
    before = _offset(zone, datetime(year, 1, 1))
    while year <= LAST_YEAR:
        edges = [datetime(year, 1, 1), *_changes(zone, year), datetime(year + 1, 1, 1)]
        for start, end in itertools.pairwise(edges):
            offset = _offset(zone, start)
            if end > since and start < end:
                yield Span(start, end, offset, before)
            before = offset
        year += 1


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones() - _NOT_A_PLACE)


def _suggest_city(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'Europe/Berlin'?)" for "berlin", which is not like the whole name."""
    city = name.lower().replace(" ", "_").rpartition("/")[2]
    return next((f" (did you mean '{one}'?)" for one in sorted(known) if one.lower().rpartition("/")[2] == city), "")


@functools.lru_cache(maxsize=10_000)
def _changes(zone: ZoneInfo, year: int) -> tuple[datetime, ...]:
    """Return when the offset changes in a year: a look at each day, then halving."""
    found = []
    day = datetime(year, 1, 1)
    while day.year == year:
        if _offset(zone, day) != _offset(zone, day + _DAY):
            found.append(_find_change(zone, day, day + _DAY))
        day += _DAY
    return tuple(found)


def _find_change(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    before = _offset(zone, low)
    while high - low > _SECOND:
        middle = low + (high - low) // _SECOND // 2 * _SECOND
        low, high = (middle, high) if _offset(zone, middle) == before else (low, middle)
    return high


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    offset = instant.replace(tzinfo=UTC).astimezone(zone).utcoffset()
    assert offset is not None
    return offset
