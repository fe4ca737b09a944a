"""Checks of the fields of what somebody asked for; each fault names the field and what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn

from picloud.backoff import SHAPES
from picloud.config import suggest
from picloud.errors import InvalidInput, InvalidName

MAX_RETRY_ATTEMPTS: Final = 100
MAX_RETRY_BASE_MS: Final = 3_600_000
RETRY_RANGES: Final = {"retry_max_attempts": (1, MAX_RETRY_ATTEMPTS), "retry_base_ms": (1, MAX_RETRY_BASE_MS)}
RETRY_CHOICES: Final = {"retry_backoff": tuple(SHAPES)}


def fail_field(field: str, fault: str) -> NoReturn:
    raise InvalidInput(f"{field}: {fault}", pointer=f"/{field}")


def check_ranges(spec: object, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Check whole numbers. Raises: InvalidInput."""
    for name, (low, high) in ranges.items():
        value = getattr(spec, name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            fail_field(name, f"must be a whole number from {low} to {high}, not {value!r:.60}")


def check_choices(spec: object, choices: Mapping[str, Sequence[str | None]]) -> None:
    """Check fields that take some values only. Raises: InvalidInput."""
    for name, allowed in choices.items():
        value = getattr(spec, name)
        if value not in allowed:
            known = [choice for choice in allowed if choice is not None]
            hint = suggest(value, known) if isinstance(value, str) else ""
            fail_field(name, f"must be one of {', '.join(known)}, not {value!r:.60}{hint}")


def check_switch(spec: object, name: str) -> None:
    """Check a field that is true or false. Raises: InvalidInput."""
    value = getattr(spec, name)
    if not isinstance(value, bool):
        fail_field(name, f"must be true or false, not {value!r:.60}")


def check_name(field: str, check: Callable[[str], object], name: str) -> None:
    """Check a name; the error's `pointer` leads to its field. Raises: InvalidName."""
    try:
        check(name)
    except InvalidName as error:
        error.pointer = f"/{field}"
        raise
