"""picloud.catch_up: missed times are made up for as the policy says; none is lost or doubled otherwise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picloud.catch_up import CatchUp, plan_ticks
from picloud.schedules import parse_schedule

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
EVERY_MINUTE = parse_schedule("* * * * *")
MINUTE = timedelta(minutes=1)


# Known failure 27: an outage over a tick does not lose it silently.


@pytest.mark.parametrize(
    ("policy", "limit", "expected", "has_left_out"),
    [
        ("skip", 100, [], True),
        ("one", 100, [9], True),
        ("all", 100, list(range(10)), False),
        ("all", 3, [7, 8, 9], True),
    ],
)
def test_policy_says_what_an_outage_is_made_up_for_with(
    policy: CatchUp, limit: int, expected: list[int], has_left_out: bool
) -> None:
    # ten times were missed, the latest by more than the grace
    schedule = parse_schedule("0-9 12 * * *")
    ticks = plan_ticks(schedule, NOON, NOON + timedelta(hours=2), policy, limit)
    assert ticks.due == [NOON + number * MINUTE for number in expected]
    assert ticks.has_left_out is has_left_out
    assert ticks.next_fire_at == NOON + timedelta(days=1)


@pytest.mark.parametrize("policy", ["skip", "one", "all"])
def test_what_is_a_little_late_was_not_missed(policy: CatchUp) -> None:
    ticks = plan_ticks(EVERY_MINUTE, NOON, NOON + timedelta(seconds=40), policy, 100)
    assert (ticks.due, ticks.has_left_out, ticks.next_fire_at) == ([NOON], False, NOON + MINUTE)


@pytest.mark.parametrize(("policy", "count"), [("skip", 1), ("one", 1), ("all", 100)])
def test_years_of_outage_are_not_walked_through(policy: CatchUp, count: int) -> None:
    # 15 million minutes: this test would not end
    ticks = plan_ticks(EVERY_MINUTE, NOON - timedelta(days=10_000), NOON, policy, 100)
    assert ticks.due == [NOON - number * MINUTE for number in reversed(range(count))]
    assert ticks.has_left_out


def test_time_that_an_update_of_the_time_zones_moved_is_neither_lost_nor_doubled() -> None:
    schedule = parse_schedule("0 2 * * *", "Europe/Berlin")
    yesterday, today, tomorrow = [datetime(2026, 6, day, tzinfo=UTC) for day in (1, 2, 3)]

    def plan(stored: datetime, last_fired_at: datetime | None) -> tuple[list[datetime], datetime | None]:
        ticks = plan_ticks(schedule, stored, stored, "one", 1, last_fired_at=last_fired_at)
        return list(ticks.due), ticks.next_fire_at

    # it was to be an hour later: today's is fired for, and then the next
    assert plan(today + timedelta(hours=1), yesterday) == ([today], tomorrow)
    # it was to be an hour sooner: it is not yet time
    assert plan(today - timedelta(hours=1), yesterday) == ([], today)
    assert plan(today - timedelta(hours=1), None) == ([], today)


@given(
    st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 */6 * * *"]),
    st.sampled_from(["skip", "one", "all"]),
    # the database's clock: it goes on, jumps ahead, and is set back
    st.lists(st.integers(-100_000, 200_000), min_size=1, max_size=30),
)
def test_a_clock_that_jumps_doubles_nothing_and_all_loses_nothing(text: str, policy: CatchUp, steps: list[int]) -> None:
    schedule = parse_schedule(text, "Europe/Berlin")
    now = latest = datetime(2026, 3, 28, 20, tzinfo=UTC)
    begin = now
    next_fire_at = schedule.next_after(now)
    fired: list[datetime] = []
    for step in steps:
        now += timedelta(seconds=step)
        latest = max(latest, now)
        if next_fire_at is not None and next_fire_at <= now:
            ticks = plan_ticks(schedule, next_fire_at, now, policy, 1000)
            fired += ticks.due
            next_fire_at = ticks.next_fire_at
    assert fired == sorted(set(fired))
    every = []
    for moment in schedule.fires_after(begin):
        if moment > latest:
            break
        every.append(moment)
    assert set(fired) <= set(every)
    if policy == "all" and max(steps) < 1000 * 60:
        assert fired == every
    if policy == "one" and every:
        # the last of each jump
        assert fired[-1] == every[-1]
