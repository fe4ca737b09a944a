"""Rows of the outbox become events, or a clear refusal: whatever somebody wrote into them."""

from __future__ import annotations

from typing import Any

import pytest

from picloud.engine import DeadLetterEvent, InvokeEvent, build_event
from picloud.errors import InvalidInput


def test_stored_invocation_and_dead_letter_become_the_events_that_handlers_see() -> None:
    assert build_event("invoke", {"body": [1], "caller": "main"}) == InvokeEvent([1], "main")
    stored = {"dead_letter_id": "d", "original": {"payload": 1}, "error": {"type": "ValueError"}, "attempts": 3}
    assert build_event("dead_letter", stored) == DeadLetterEvent("d", {"payload": 1}, {"type": "ValueError"}, 3)


@pytest.mark.parametrize(
    ("kind", "stored", "says"),
    [
        ("carrier-pigeon", {}, "does not deliver events of kind 'carrier-pigeon'"),
        ("invoke", [1], "must be a JSON object"),
        ("invoke", None, "must be a JSON object"),
        ("dead_letter", {}, "dead_letter event is broken: KeyError: 'dead_letter_id'"),
        ("dead_letter", {"dead_letter_id": "d", "attempts": "many"}, "dead_letter event is broken: ValueError"),
        ("dead_letter", {"dead_letter_id": "d", "attempts": [3]}, "dead_letter event is broken: TypeError"),
    ],
)
def test_row_that_cannot_be_what_it_says_is_refused_and_says_why(kind: str, stored: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        build_event(kind, stored)
