"""What a handler sends: the options of `queue.enqueue`, checked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from picloud.durations import parse_duration
from picloud.errors import InvalidInput

MAX_PRIORITY = 9
MAX_ATTEMPTS = 100
MAX_KEY_CHARS = 255


class Options(NamedTuple):
    """The options of a message, in the form that the database wants."""

    delay: float = 0.0
    """Seconds."""
    deliver_after: datetime | None = None
    priority: int = 0
    max_attempts: int | None = None
    dedup_key: str | None = None
    group_key: str | None = None
    immediate: bool = False


PLAIN = Options()
_NOTHING_GIVEN = (None,) * 5


def check_options(
    delay: float | str | timedelta | None,
    deliver_after: datetime | str | None,
    priority: int,
    max_attempts: int | None,
    dedup_key: str | None,
    group_key: str | None,
    immediate: bool,
) -> Options:
    """Return the options of one call.

    Raises: InvalidInput that names the option.
    """
    given = (delay, deliver_after, max_attempts, dedup_key, group_key)
    if given == _NOTHING_GIVEN and immediate is False:
        return PLAIN if type(priority) is int and priority == 0 else Options(priority=_check_priority(priority))
    if delay is not None and deliver_after is not None:
        raise InvalidInput("queue: give delay or deliver_after, not both")
    return Options(
        0.0 if delay is None else parse_duration(delay, what="queue: delay"),
        None if deliver_after is None else _check_time(deliver_after),
        _check_priority(priority),
        None if max_attempts is None else _check_number("max_attempts", max_attempts, 1, MAX_ATTEMPTS),
        None if dedup_key is None else _check_key("dedup_key", dedup_key),
        None if group_key is None else _check_key("group_key", group_key),
        _check_flag("immediate", immediate),
    )


def _check_priority(priority: object) -> int:
    return _check_number("priority", priority, 0, MAX_PRIORITY)


def _check_number(name: str, value: object, low: int, high: int) -> int:
    if type(value) is int and low <= value <= high:
        return value
    shown = value if type(value) is int and value.bit_length() < 64 else type(value).__name__
    raise InvalidInput(f"queue: {name} must be a whole number from {low} to {high}, not {shown}")


def _check_flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"queue: {name} must be True or False, not {type(value).__name__}")


def _check_time(value: object) -> datetime:
    when = value
    if type(when) is str:
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            raise InvalidInput("queue: deliver_after must be a time such as '2027-01-31T12:00:00Z'") from None
    if not isinstance(when, datetime):
        raise InvalidInput(f"queue: deliver_after must be a datetime or ISO text, not {type(value).__name__}")
    if when.tzinfo is None:
        raise InvalidInput(
            "queue: deliver_after needs a time zone: datetime.now(timezone.utc), or ISO text ending in 'Z'"
        )
    try:
        # what the database is given is a date that there is: not one near the ends, nor made of the bytes of pickle
        return when.astimezone(UTC)
    except (OverflowError, ValueError):
        raise InvalidInput("queue: deliver_after is out of range") from None


def _check_key(name: str, key: object) -> str:
    if type(key) is not str or not 0 < len(key) <= MAX_KEY_CHARS:
        raise InvalidInput(f"queue: {name} must be text of 1 to {MAX_KEY_CHARS} characters")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"queue: {name} has a lone surrogate, which is not text") from None
    if "\0" in key:
        raise InvalidInput(f"queue: {name} has a NUL character")
    return key
