"""What a schedule does about the times at which no node ran: leave them out, make up for them once, or for each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from picloud.schedules import Schedule

CatchUp = Literal["skip", "one", "all"]
POLICIES: tuple[str, ...] = get_args(CatchUp)
DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
GRACE = timedelta(seconds=60)
"""What is later than this was missed."""
_MAX_WALK = 20
_FIRST_WINDOW = timedelta(minutes=10)
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Ticks:
    """What a schedule is to do now."""

    due: Sequence[datetime]
    """The times to fire for, oldest first."""
    next_fire_at: datetime | None
    has_left_out: bool
    """Times were missed that the policy does not make up for."""


def plan_ticks(
    schedule: Schedule,
    due_since: datetime,
    now: datetime,
    policy: CatchUp,
    limit: int,
    *,
    last_fired_at: datetime | None = None,
) -> Ticks:
    """Return what to fire for from `due_since`, the first time that was not fired for, until `now`.

    `all` makes up for the newest `limit` times. Where an update of the time zones moved the time, it is looked for
    since `last_fired_at`.
    """
    most = limit if policy == "all" else 1
    passed, next_fire_at = _walk(schedule, due_since, now)
    if not passed and last_fired_at is not None:
        passed, next_fire_at = _walk(schedule, last_fired_at + _MOMENT, now)
    if len(passed) > _MAX_WALK:
        passed, next_fire_at = _list_newest(schedule, due_since, now, most + 1), schedule.next_after(now)
    due = passed[-most:]
    if policy == "skip" and due and now - due[-1] > GRACE:
        due = []
    return Ticks(due, next_fire_at, len(due) < len(passed))


def _walk(schedule: Schedule, first: datetime, now: datetime) -> tuple[list[datetime], datetime | None]:
    """Return what has passed, as far as it is worth walking, and what comes next. Nearly always one time has passed."""
    passed: list[datetime] = []
    for moment in schedule.fires_after(first - _MOMENT):
        if moment > now:
            return passed, moment
        passed.append(moment)
        if len(passed) > _MAX_WALK:
            break
    return passed, None


def _list_newest(schedule: Schedule, first: datetime, last: datetime, count: int) -> list[datetime]:
    """Return the newest `count` times from `first` to `last`. A long outage is not walked through from its start."""
    window = _FIRST_WINDOW
    while True:
        since = max(first, last - window)
        found = list(itertools.takewhile(lambda moment: moment <= last, schedule.fires_after(since - _MOMENT)))
        if len(found) >= count or since == first:
            return found[-count:]
        window *= 4
