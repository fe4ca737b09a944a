"""examples/nightly-report: each day is reported once, on its own day, whatever the clock does."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from picloud.schedules import parse_schedule
from picloud.testing import App, HandlerFailed

FOLDER = Path(__file__).parents[2] / "examples" / "nightly-report"
SALES = [json.loads(line) for line in (FOLDER / "sales.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def app(picloud_app: Callable[[Path], App]) -> App:
    app = picloud_app(FOLDER)
    app.queues["sales"] = list(SALES)
    app.deliver("sales")
    return app


def test_sales_are_counted_by_day_and_product_and_a_wrong_one_is_refused(app: App) -> None:
    assert app.kv == {
        "sold/2027-03-27/tea": 1350,
        "sold/2027-03-27/coffee": 1290,
        "sold/2027-03-27/honey": 799,
        "sold/2027-03-27/mug": 300,
        "sold/2027-03-28/tea": 450,
    }
    with pytest.raises(HandlerFailed, match="send a refund instead"):
        app.run("sale", {"day": "2027-03-27", "product": "tea", "cents": -1})


def test_the_night_on_which_the_clock_skips_the_time_reports_the_day_before(app: App) -> None:
    # 3:00 in Berlin: 2:30 is skipped
    (done,) = app.fire("report", datetime(2027, 3, 28, 1, 0, tzinfo=UTC))
    report = {
        "day": "2027-03-27",
        "total_cents": 3739,
        "top": [
            {"product": "tea", "cents": 1350},
            {"product": "coffee", "cents": 1290},
            {"product": "honey", "cents": 799},
        ],
    }
    assert done.value == report
    assert app.queues["reports"] == [report]
    assert app.kv == {"sold/2027-03-28/tea": 450}
    (done,) = app.fire("report", datetime(2027, 3, 29, 0, 30, tzinfo=UTC))
    assert (done.value["day"], done.value["total_cents"], app.kv) == ("2027-03-28", 450, {})


def test_every_day_of_two_years_is_reported_once(app: App) -> None:
    schedule = next(cron for cron in app.manifest.cron_triggers if cron.script == "report").parse()
    moments = schedule.list_next(datetime(2027, 1, 1, tzinfo=UTC), 730)
    days = [moment.astimezone(schedule.zone).date() for moment in moments]
    assert len(set(days)) == (days[-1] - days[0]).days + 1 == 730


def test_monday_sends_a_reminder(app: App) -> None:
    assert app.fire("reminders") == []
    assert app.queues["reminders"] == [{"what": "look at the reports of last week"}]


def test_what_the_readme_shows_is_what_the_schedule_does() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    moments = parse_schedule("30 2 * * *", "Europe/Berlin").list_next(datetime(2027, 3, 26, 23, tzinfo=UTC), 3)
    shown = [f"{m.astimezone(parse_schedule('@daily', 'Europe/Berlin').zone):%a %Y-%m-%d %H:%M %Z}" for m in moments]
    for line, moment in zip(shown, moments, strict=True):
        assert f"{line}  {moment:%Y-%m-%dT%H:%MZ}" in readme
