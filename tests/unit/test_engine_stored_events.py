"""Rows of the outbox become events, or a clear refusal: whatever somebody wrote into them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from picloud.engine import CronEvent, DeadLetterEvent, InvokeEvent, build_event
from picloud.errors import InvalidInput


def test_stored_invocation_and_dead_letter_become_the_events_that_handlers_see() -> None:
    assert build_event("invoke", {"body": [1], "caller": "main"}) == InvokeEvent([1], "main")
    stored = {"dead_letter_id": "d", "original": {"payload": 1}, "error": {"type": "ValueError"}, "attempts": 3}
    assert build_event("dead_letter", stored) == DeadLetterEvent("d", {"payload": 1}, {"type": "ValueError"}, 3)


def test_stored_tick_keeps_the_clock_of_its_time_zone() -> None:
    event = build_event("cron", {"scheduled_for": "2026-10-25T02:30:00+02:00", "payload": {"n": 1}})
    assert event == CronEvent(datetime(2026, 10, 25, 0, 30, tzinfo=UTC), {"n": 1})
    assert event["scheduled_for"].hour == 2


@pytest.mark.parametrize(
    ("kind", "stored", "says"),
    [
        ("carrier-pigeon", {}, "does not deliver events of kind 'carrier-pigeon'"),
        ("invoke", [1], "must be a JSON object"),
        ("invoke", None, "must be a JSON object"),
        ("dead_letter", {}, "dead_letter event is broken: KeyError: 'dead_letter_id'"),
        ("dead_letter", {"dead_letter_id": "d", "attempts": "many"}, "dead_letter event is broken: ValueError"),
        ("dead_letter", {"dead_letter_id": "d", "attempts": [3]}, "dead_letter event is broken: TypeError"),
        ("cron", {"payload": 1}, "cron event is broken: KeyError: 'scheduled_for'"),
        ("cron", {"scheduled_for": "tomorrow"}, "cron event is broken: ValueError"),
    ],
)
def test_row_that_cannot_be_what_it_says_is_refused_and_says_why(kind: str, stored: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        build_event(kind, stored)
