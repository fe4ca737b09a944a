"""What a schedule does about the times at which no node ran: leave them out, make up for them once, or for each."""

from __future__ import annotations

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
_FIRST_WINDOW = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Ticks:
    """What a schedule is to do now."""

    due: Sequence[datetime]
    """The times to fire for, oldest first."""
    next_fire_at: datetime | None
    has_left_out: bool
    """Times were missed that the policy does not make up for."""


def plan_ticks(schedule: Schedule, due_since: datetime, now: datetime, policy: CatchUp, limit: int) -> Ticks:
    """Return what to fire for from `due_since`, the first time that was not fired for, until `now`.

    `all` makes up for the newest `limit` times.
    """
    most = limit if policy == "all" else 1
    passed = _list_newest(schedule, due_since, now, most + 1)
    due = passed[-most:]
    if policy == "skip" and due and now - due[-1] > GRACE:
        due = []
    return Ticks(due, schedule.next_after(now), len(due) < len(passed))


def _list_newest(schedule: Schedule, first: datetime, last: datetime, count: int) -> list[datetime]:
    """Return the newest `count` times from `first` to `last`. A long outage is not walked through from its start."""
    window = _FIRST_WINDOW
    while True:
        since = max(first, last - window)
        found = []
        for moment in schedule.fires_after(since - timedelta(microseconds=1)):
            if moment > last:
                break
            found.append(moment)
        if len(found) >= count or since == first:
            return found[-count:]
        window *= 4
