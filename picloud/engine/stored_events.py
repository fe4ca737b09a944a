"""Events as the outbox stores them: from a row's kind and JSON to what a handler is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from picloud.engine.events import CronEvent, DeadLetterEvent, EmailEvent, Event, InvokeEvent
from picloud.errors import InvalidInput
from picloud.types import Json

Build = Callable[[Mapping[str, Json]], Event]
"""Builds the event of one kind. A field that is missing or of another type may raise what it likes."""


def build_event(source_kind: str, stored: Json) -> Event:
    """Return the event of an outbox row.

    Raises: InvalidInput where the row cannot be what it says: it was edited, or a later release wrote it.
    """
    build = BUILDERS.get(source_kind)
    if build is None:
        raise InvalidInput(f"outbox: this release does not deliver events of kind '{source_kind}'")
    if not isinstance(stored, dict):
        raise InvalidInput(f"outbox: the event of a {source_kind} row must be a JSON object")
    try:
        return build(stored)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"outbox: the {source_kind} event is broken: {type(error).__name__}: {error}") from error


def _build_invoke(stored: Mapping[str, Json]) -> Event:
    return InvokeEvent(stored.get("body"), str(stored.get("caller")))


def _build_dead_letter(stored: Mapping[str, Json]) -> Event:
    return DeadLetterEvent(
        dead_letter_id=str(stored["dead_letter_id"]),
        original=stored.get("original"),
        error=stored.get("error"),
        attempts=int(stored.get("attempts") or 0),
    )


def _build_cron(stored: Mapping[str, Json]) -> Event:
    return CronEvent(datetime.fromisoformat(stored["scheduled_for"]), stored.get("payload"))


BUILDERS: dict[str, Build] = {
    "invoke": _build_invoke,
    "dead_letter": _build_dead_letter,
    "cron": _build_cron,
    "email": EmailEvent.of,
}
"""By `outbox.source_kind`; each kind of trigger that goes through the outbox has one."""
