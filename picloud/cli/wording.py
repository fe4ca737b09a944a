"""Values as people read them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

_STEPS = ((86400.0, "d", 3600.0, "h"), (3600.0, "h", 60.0, "m"), (60.0, "m", 1.0, "s"))


def show_seconds(seconds: float | None) -> str:
    """Return a duration in two units at most: "850ms", "12s", "3m 20s", "2d 4h"; "-" for None."""
    if seconds is None:
        return "-"
    for size, unit, part_size, part_unit in _STEPS:
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            part = int(rest // part_size)
            return f"{int(whole)}{unit} {part}{part_unit}" if part else f"{int(whole)}{unit}"
    return f"{seconds:.0f}s" if seconds >= 1 else f"{max(0.0, seconds) * 1000:.0f}ms"


def show_age(moment: str | None, now: datetime | None = None) -> str:
    """Return how long ago an RFC 3339 time was."""
    if moment is None:
        return "-"
    then = datetime.fromisoformat(moment)
    return show_seconds(max(0.0, ((now or datetime.now(UTC)) - then).total_seconds()))


def show_rest(moment: str | None, now: datetime | None = None) -> str:
    """Return in how long an RFC 3339 time will be."""
    if moment is None:
        return "-"
    return show_seconds(max(0.0, (datetime.fromisoformat(moment) - (now or datetime.now(UTC))).total_seconds()))


def show_count(count: int, one: str) -> str:
    """Return "1 message", "2 messages", "1,200 messages"."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"


def show_value(value: Any) -> str:
    """Return a JSON value in one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def first_line(text: str) -> str:
    """Return the first line of a text, its control characters gone."""
    line = text.strip().partition("\n")[0]
    return "".join(character if character.isprintable() else " " for character in line)
