"""Events written as JSON by hand, for runs without a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, NoReturn

from uuid_utils.compat import uuid7

from picloud.config import suggest
from picloud.engine.events import EVENTS, Event, QueueEvent
from picloud.errors import InvalidInput
from picloud.types import Json

_DEFAULTS: dict[str, Callable[[], Json]] = {
    "queue": lambda: "local",
    "message_id": lambda: str(uuid7()),
    "attempt": lambda: 1,
    "max_attempts": lambda: 3,
    "enqueued_at": lambda: datetime.now(UTC).isoformat(),
    "scheduled_for": lambda: datetime.now(UTC).isoformat(),
    "caller": lambda: "local",
    "method": lambda: "POST",
    "path": lambda: "/",
    "params": dict,
    "query": dict,
    "query_all": dict,
    "headers": dict,
    "dead_letter_id": lambda: str(uuid7()),
    "original": dict,
    "attempts": lambda: 1,
    "recipient": lambda: "local@local",
    "sender": lambda: "local@localhost",
    "envelope_from": lambda: "local@localhost",
    "to": lambda: ["local@local"],
    "subject": lambda: "",
    "attachments": list,
    "truncated": lambda: False,
}
"""Values of the fields that were left out; every other field is null."""

_TYPES: dict[str, type] = {
    **dict.fromkeys(("queue", "message_id", "caller", "method", "path", "dead_letter_id"), str),
    **dict.fromkeys(("attempt", "max_attempts", "attempts"), int),
    **dict.fromkeys(("params", "query", "query_all", "headers", "original"), dict),
    **dict.fromkeys(("recipient", "sender", "envelope_from", "subject"), str),
    **dict.fromkeys(("to", "attachments"), list),
    "truncated": bool,
}
_WORDS = {str: "text", int: "a whole number", dict: "an object", list: "a list", bool: "true or false"}


def event_from_json(value: Json) -> Event:
    """Return the event that a JSON value stands for.

    An object whose `source` is queue, http, invoke, cron, dead_letter or email gives the fields of that kind of event;
    any other value is the payload of a queue's message. A mail's `from` is its `sender`.
    Raises: InvalidInput that names the field.
    """
    source = value.get("source") if isinstance(value, dict) else None
    if not isinstance(source, str) or source not in EVENTS:
        return _make(QueueEvent, {"payload": value})
    given = {name: item for name, item in value.items() if name != "source"}
    kind = EVENTS[source]
    if given.get("op") == getattr(kind, "op", None):
        given.pop("op", None)
    if source == "email" and "from" in given:
        given["sender"] = given.pop("from")
    return _make(kind, given)


def _make(kind: type[Event], given: dict[str, Json]) -> Event:
    names = [field.name for field in fields(kind) if field.name != "raw"]  # type: ignore[arg-type]
    for name in given:
        if name not in names:
            hint = suggest(name, names) or f" (a {kind.source} event has {', '.join(names)})"
            _fail(name, f"unknown field{hint}")
    values: dict[str, Any] = {name: _read(name, given[name]) for name in names if name in given}
    for name in names:
        if name not in values:
            values[name] = _read(name, _DEFAULTS[name]()) if name in _DEFAULTS else None
    if kind.source == "http":
        body = values["body"]
        values["query_all"] = values["query_all"] or {name: [value] for name, value in values["query"].items()}
        values["raw"] = b"" if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
    return kind(**values)


def _read(name: str, value: Json) -> Any:
    wanted = _TYPES.get(name)
    if wanted is not None and type(value) is not wanted:
        _fail(name, f"must be {_WORDS[wanted]}")
    if name in ("enqueued_at", "scheduled_for"):
        return _read_time(name, value)
    return value


def _read_time(name: str, value: Json) -> datetime:
    try:
        when = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        _fail(name, "must be a time such as '2027-01-31T12:00:00Z'")
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _fail(name: str, fault: str) -> NoReturn:
    shown = name if name.isprintable() and len(name) <= 60 else repr(name[:60])
    raise InvalidInput(f"event.{shown}: {fault}", pointer=f"/{shown}")
