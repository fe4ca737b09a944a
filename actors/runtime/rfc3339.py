"""Times as JSON carries them."""

from __future__ import annotations

from datetime import UTC, datetime


def format_time(at: float) -> str:
    """Return RFC 3339 text in UTC, with milliseconds, of seconds since the epoch."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
