"""picloud.schedules: five fields in a time zone, and what happens where the clock is put forward or back."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cronsim import CronSim
from hypothesis import example, given, settings
from hypothesis import strategies as st

from picloud.errors import InvalidInput
from picloud.schedules import parse_schedule
from picloud.zones import find_zone

MINUTE = timedelta(minutes=1)


def fires(text: str, zone: str, after: str, count: int) -> list[str]:
    """The next times as the zone's clock shows them, with the offset."""
    schedule = parse_schedule(text, zone)
    moments = schedule.list_next(datetime.fromisoformat(after), count)
    return [
        schedule.show_local(moment).removeprefix("2026-").replace(":00+", "+").replace(":00-", "-")
        for moment in moments
    ]


# Known failure 25: a fixed time comes once, a skipped one right after the gap, wildcards keep their interval.


@pytest.mark.parametrize(
    ("zone", "text", "after", "expected"),
    [
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00Z", ["03-29T03:00+02:00", "03-30T02:30+02:00"]),
        ("Europe/London", "30 1 * * *", "2026-03-28T12:00Z", ["03-29T02:00+01:00", "03-30T01:30+01:00"]),
        ("America/New_York", "0 2 * * *", "2026-03-07T12:00Z", ["03-08T03:00-04:00", "03-09T02:00-04:00"]),
        ("America/Los_Angeles", "59 2 * * 0", "2026-03-02T12:00Z", ["03-08T03:00-07:00", "03-15T02:59-07:00"]),
        # half an hour
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00Z", ["10-04T02:30+11:00", "10-05T02:15+11:00"]),
        # at midnight: the day begins at one
        ("America/Santiago", "0 0 * * *", "2026-09-05T12:00Z", ["09-06T01:00-03:00", "09-07T00:00-03:00"]),
        ("Africa/Cairo", "0 0 * * 5", "2026-04-23T12:00Z", ["04-24T01:00+03:00", "05-01T00:00+03:00"]),
        # several in one gap: once
        ("Europe/Berlin", "0,20,40 2 * * *", "2026-03-29T00:00Z", ["03-29T03:00+02:00", "03-30T02:00+02:00"]),
        # right after the gap is a time of its own: once
        ("Europe/Berlin", "0 2,3 * * *", "2026-03-29T00:00Z", ["03-29T03:00+02:00", "03-30T02:00+02:00"]),
        ("Europe/Berlin", "*/30 2 * * *", "2026-03-29T00:00Z", ["03-29T03:00+02:00", "03-30T02:00+02:00"]),
        ("Europe/Berlin", "0 */2 * * *", "2026-03-28T22:30Z", ["03-29T00:00+01:00", "03-29T03:00+02:00"]),
    ],
)  # fmt: skip
def test_time_that_the_clock_skips_comes_right_after_the_gap_once(
    zone: str, text: str, after: str, expected: list[str]
) -> None:
    assert fires(text, zone, after, 2) == expected


@pytest.mark.parametrize(
    ("zone", "text", "after", "expected"),
    [
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00Z", ["10-25T02:30+02:00", "10-26T02:30+01:00"]),
        ("America/New_York", "0 1 * * *", "2026-10-31T12:00Z", ["11-01T01:00-04:00", "11-02T01:00-05:00"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00Z", ["04-05T01:45+11:00", "04-06T01:45+10:30"]),
        # asked for between the first and the second time
        ("Europe/Berlin", "30 2 * * *", "2026-10-25T00:45Z", ["10-26T02:30+01:00", "10-27T02:30+01:00"]),
        ("Europe/Berlin", "30 2 * * *", "2026-10-25T01:10Z", ["10-26T02:30+01:00", "10-27T02:30+01:00"]),
        # the end of what is shown twice is shown once
        ("Europe/Berlin", "0 3 * * *", "2026-10-24T12:00Z", ["10-25T03:00+01:00", "10-26T03:00+01:00"]),
    ],
)
def test_time_that_the_clock_shows_twice_comes_once(zone: str, text: str, after: str, expected: list[str]) -> None:
    assert fires(text, zone, after, 2) == expected


@pytest.mark.parametrize(
    ("text", "zone", "change", "minutes"),
    [
        ("*/15 * * * *", "Europe/Berlin", "2026-03-29T01:00Z", 15),
        ("*/15 * * * *", "Europe/Berlin", "2026-10-25T01:00Z", 15),
        ("7 * * * *", "America/New_York", "2026-03-08T07:00Z", 60),
        ("@hourly", "America/New_York", "2026-11-01T06:00Z", 60),
        ("*/30 * * * *", "Australia/Lord_Howe", "2026-10-03T15:30Z", 30),
        ("*/30 * * * *", "Australia/Lord_Howe", "2026-04-04T15:00Z", 30),
        ("* * * * *", "America/Santiago", "2026-09-06T04:00Z", 1),
    ],
)
def test_wildcards_keep_their_interval(text: str, zone: str, change: str, minutes: int) -> None:
    begin = datetime.fromisoformat(change) - timedelta(hours=3)
    moments = parse_schedule(text, zone).list_next(begin, 360 // minutes)
    assert {later - earlier for earlier, later in itertools.pairwise(moments)} == {timedelta(minutes=minutes)}


def by_the_rules(text: str, zone: str, begin: datetime, minutes: int) -> list[datetime]:
    """Every minute looked at by itself, as the rules have it: slow and plain."""
    tz = find_zone(zone)
    minute, hour = text.split()[:2]
    keeps_interval, hours = minute[0] == "*" or hour[0] == "*", CronSim(text, begin).hours

    def matches(shown: datetime) -> bool:
        return next(CronSim(text, shown - timedelta(seconds=1))) == shown

    found = []
    for number in range(minutes):
        moment = begin + number * MINUTE
        shown = moment.astimezone(tz).replace(tzinfo=None)
        before = (moment - MINUTE).astimezone(tz).replace(tzinfo=None)
        # what was shown within the last hours is shown again
        recent = range(1, 181) if moment.astimezone(tz).fold else ()
        is_again = any((moment - ago * MINUTE).astimezone(tz).replace(tzinfo=None) == shown for ago in recent)
        is_due = matches(shown) and (keeps_interval or not is_again)
        skipped = before + MINUTE
        while len(hours) < 24 and not is_due and skipped < shown:
            is_due, skipped = matches(skipped), skipped + MINUTE
        if is_due:
            found.append(moment)
    return found


NUMBERS = st.sampled_from(["0", "30", "15,45", "7", "*", "*/15", "10-20", "5-59/10"])
HOURS = st.sampled_from(["*", "0", "1", "2", "3", "0,2", "1-3", "*/2", "2-5/3", "23"])
CHANGES = st.sampled_from(
    [
        ("Europe/Berlin", "2026-03-29T01:00Z"),
        ("Europe/Berlin", "2026-10-25T01:00Z"),
        ("America/New_York", "2026-03-08T07:00Z"),
        ("America/New_York", "2026-11-01T06:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T15:30Z"),
        ("Australia/Lord_Howe", "2026-04-04T15:00Z"),
        ("America/Santiago", "2026-09-06T04:00Z"),
        ("Asia/Kathmandu", "2026-01-01T00:00Z"),
        ("UTC", "2026-12-31T23:00Z"),
    ]
)


@settings(max_examples=50)
@given(NUMBERS, HOURS, CHANGES, st.integers(0, 360))
@example("*/30", "2", ("Europe/Berlin", "2026-10-25T01:00Z"), 190)
def test_times_around_a_change_are_those_of_the_rules(
    minute: str, hour: str, change: tuple[str, str], minutes_before: int
) -> None:
    text = f"{minute} {hour} * * *"
    begin = datetime.fromisoformat(change[1]) - minutes_before * MINUTE
    end = begin + 480 * MINUTE
    found = []
    for moment in parse_schedule(text, change[0]).fires_after(begin - timedelta(seconds=1)):
        if moment >= end:
            break
        found.append(moment)
    assert found == by_the_rules(text, change[0], begin, 480)


@given(
    st.sampled_from(["0 2 * * *", "*/5 * * * *", "0 0 29 2 *", "30 2 * * SUN", "0 9 1,15 * MON", "0 0 L * *"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Tehran"]),
    st.datetimes(datetime(2011, 1, 1), datetime(2060, 1, 1)),
)
@example("0 9 1,15 * MON", "Pacific/Apia", datetime(2011, 12, 29, 20))
def test_what_comes_next_is_later_and_nothing_lies_between(text: str, zone: str, moment: datetime) -> None:
    schedule = parse_schedule(text, zone)
    begin = moment.replace(tzinfo=UTC)
    first, second = schedule.list_next(begin, 2)
    assert begin < first < second
    # asked again from anywhere before it, the answer is the same
    assert schedule.next_after(first - timedelta(microseconds=1)) == first
    assert schedule.next_after(begin + (first - begin) / 2) == first
    assert schedule.next_after(first) == second


def test_leap_day_words_and_blanks() -> None:
    assert fires("0 0 29 2 *", "Europe/Berlin", "2026-01-01T00:00Z", 1) == ["2028-02-29T00:00+01:00"]
    assert parse_schedule("  @Hourly ").fields == "0 * * * *"
    assert parse_schedule("0  2 *\t* mon-fri").text == "0 2 * * mon-fri"
    noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
    for word, expected in (("@daily", (6, 2, 0)), ("@weekly", (6, 7, 0)), ("@monthly", (7, 1, 0))):
        moment = parse_schedule(word).next_after(noon)
        assert moment is not None
        assert (moment.month, moment.day, moment.hour) == expected


# Bad input.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("61 * * * *", "the minute '61' of .* cannot be used \\(0 to 59"),
        ("0 25 * * *", "the hour '25'"),
        ("0 0 0 * *", "the day of the month '0'"),
        ("0 0 * 13 *", "the month '13'"),
        ("0 0 * * FRY", "the day of the week 'FRY'"),
        ("0 0 * * 5-1", "the day of the week '5-1'"),
        ("*/90 * * * *", "the step of '\\*/90' is longer"),
        ("*/0 * * * *", "the minute '\\*/0'"),
        ("0 2 * *", "has 4 fields, write five"),
        ("0 0 2 * * *", "has 6 fields, write five: seconds are not among them"),
        ("@hourl", "no such word '@hourl' \\(did you mean '@hourly'\\?\\)"),
        ("@reboot", "has no time"),
        ("0 0 30 2 *", "never comes"),
        ("", "write five fields"),
        ("0 " * 200, "write five fields"),
        ("every day", "has 2 fields"),
        ("0 2 * * *\0", "the day of the week"),
    ],
)
def test_bad_schedule_is_refused_with_its_field_and_what_to_write(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        parse_schedule(text)
    assert caught.value.pointer == "/schedule"


@pytest.mark.parametrize(
    ("zone", "says"),
    [
        ("europe/berlin", "did you mean 'Europe/Berlin'"),
        ("Berlin", "did you mean 'Europe/Berlin'"),
        ("new york", "did you mean 'America/New_York'"),
        ("localtime", "no time zone"),
        ("Europe/Berln", "did you mean 'Europe/Berlin'"),
        ("../../etc/passwd", "no time zone"),
        ("/etc/localtime", "no time zone"),
        ("", "no time zone"),
        ("UTC+1", "no time zone"),
        ("Europe/\0", "no time zone"),
    ],
)
def test_bad_time_zone_is_refused_with_one_like_it(zone: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        parse_schedule("@daily", zone)
    assert caught.value.pointer == "/timezone"


@settings(max_examples=50)
@given(st.text(alphabet="0123456789*/,-#LWSUNMON@ é²", max_size=30) | st.text(max_size=20))
def test_any_text_is_a_schedule_or_a_clear_error(text: Any) -> None:
    try:
        schedule = parse_schedule(text)
    except InvalidInput:
        return
    assert schedule.next_after(datetime(2026, 1, 1, tzinfo=UTC)) is not None


def test_time_zones_are_there_where_the_system_has_none() -> None:
    code = "from picloud.schedules import parse_schedule; print(parse_schedule('@daily', 'Europe/Berlin').zone)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONTZPATH": ""}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Europe/Berlin\n"
