"""Schedules: five cron fields or a word such as `@hourly`, in a time zone. Pure: no clock and no database.

The rules where a zone puts its clock forward or back:
- A time that the clock skips comes right after the gap, once, however many were skipped. A schedule of every hour has
  no need of that: its interval goes on.
- A time that the clock shows twice comes once, the first time. Where the minute or the hour begins with `*` it comes
  both times: the interval goes on.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NoReturn
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from picloud.config import suggest
from picloud.errors import InvalidInput
from picloud.zones import DEFAULT_ZONE, Span, find_zone, list_spans

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MAX_CHARS = 200
SHOWN_FIRES = 5
_FIELDS = (
    ("minute", 59, "0 to 59, such as 30, */15, 10-20 or 0,30"),
    ("hour", 23, "0 to 23, such as 2, */6, 9-17 or 8,20"),
    ("day of the month", 31, "1 to 31, such as 1, 1-7, 1,15, or L for the last"),
    ("month", 12, "1 to 12 or JAN to DEC, such as 1, */3 or MAR-OCT"),
    ("day of the week", 7, "0 to 7 or SUN to SAT, 0 and 7 are Sunday, such as 1, MON-FRI, 5L or MON#1"),
)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is due. Made by `parse_schedule`."""

    text: str
    """As it was written, blanks tidied."""
    zone: ZoneInfo
    fields: str
    """The five fields."""
    keeps_interval: bool = field(repr=False)
    """Minute or hour begins with `*`."""
    is_every_hour: bool = field(repr=False)

    def fires_after(self, moment: datetime) -> Iterator[datetime]:
        """Yield, in order and in UTC, when it is due after `moment`, which has a time zone."""
        after = last = moment.astimezone(UTC).replace(tzinfo=None)
        coming: datetime | None = None
        for span in list_spans(self.zone, after):
            if span.offset < span.before:
                coming = None
            if coming is not None and coming >= span.end + span.offset:
                continue
            for coming in self._walk(span, after):
                if coming >= span.end + span.offset:
                    break
                if coming - span.offset > last:
                    last = coming - span.offset
                    yield last.replace(tzinfo=UTC)
            else:
                return

    def next_after(self, moment: datetime) -> datetime | None:
        """Return when it is due next; None: never again."""
        return next(self.fires_after(moment), None)

    def list_next(self, moment: datetime, count: int = SHOWN_FIRES) -> list[datetime]:
        """Return the next times in UTC, fewer where it ends."""
        return list(itertools.islice(self.fires_after(moment), count))

    def show_local(self, moment: datetime) -> str:
        """Return a moment as the zone's clock shows it, in ISO 8601 with the offset."""
        return moment.astimezone(self.zone).isoformat()

    def _walk(self, span: Span, after: datetime) -> Iterator[datetime]:
        """Yield what the clock shows when it is due, from where the span or `after` begins."""
        gap = span.offset > span.before and span.start > after
        if gap and not self.is_every_hour and self._is_skipped(span):
            yield span.start + span.offset
        begin = max(span.start, after) + span.offset
        if span.offset < span.before and not self.keeps_interval:
            # what the clock shows for the second time
            begin = max(begin, span.start + span.before)
        # the library looks for what comes after a moment
        yield from CronSim(self.fields, begin.replace(microsecond=0) - _SECOND)

    def _is_skipped(self, span: Span) -> bool:
        first = next(CronSim(self.fields, span.start + span.before - _SECOND), None)
        return first is not None and first < span.start + span.offset


@functools.lru_cache(maxsize=10_000)
def parse_schedule(text: str, timezone: str = DEFAULT_ZONE) -> Schedule:
    """Return the schedule in `text`: `0 2 * * *`, `*/15 9-17 * * MON-FRI`, `@hourly`.

    Raises: InvalidInput that names the field, or the zone, and what to write instead.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_CHARS:
        _fail(f"write five fields, such as '0 2 * * *', or a word, such as @hourly, in {MAX_CHARS} characters at most")
    tidy = " ".join(text.split())
    fields = _expand(tidy)
    _check_fields(tidy, fields.split())
    zone = find_zone(timezone)
    minute, hour = fields.split()[:2]
    try:
        sim = CronSim(fields, datetime(2000, 1, 1))
        next(sim)
    except (CronSimError, StopIteration):
        _fail(f"{tidy!r} never comes: no month of it has such a day")
    keeps_interval = minute.startswith("*") or hour.startswith("*")
    return Schedule(tidy, zone, fields, keeps_interval, len(sim.hours) == 24)


def _expand(text: str) -> str:
    if not text.startswith("@"):
        return text
    if text.lower() == "@reboot":
        _fail("@reboot has no time: a node starts whenever it must; write five fields, or @hourly, @daily, …")
    if text.lower() not in ALIASES:
        _fail(f"no such word {text!r:.60}{suggest(text.lower(), ALIASES)} (known: {', '.join(ALIASES)})")
    return ALIASES[text.lower()]


def _check_fields(text: str, fields: list[str]) -> None:
    if len(fields) != len(_FIELDS):
        seconds = ": seconds are not among them" if len(fields) == 6 else ""
        _fail(
            f"{text!r:.80} has {len(fields)} field{'s' if len(fields) != 1 else ''}, write five{seconds} "
            "(minute, hour, day of the month, month, day of the week), such as '0 2 * * *', or @hourly"
        )
    for at, (field_text, (name, largest, form)) in enumerate(zip(fields, _FIELDS, strict=True)):
        alone = " ".join(field_text if other == at else "*" for other in range(len(_FIELDS)))
        try:
            CronSim(alone, datetime(2000, 1, 1))
        except (CronSimError, ValueError):
            _fail(f"the {name} {field_text!r:.60} of {text!r:.80} cannot be used ({form})")
        for step in (part.partition("/")[2] for part in field_text.split(",")):
            if step and int(step) > largest:
                _fail(f"the step of {field_text!r:.60} is longer than its field: the {name} has {form}")


def _fail(fault: str) -> NoReturn:
    raise InvalidInput(f"schedule: {fault}", pointer="/schedule")
