"""Times as JSON carries them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


def format_time(at: float) -> str:
    """Return RFC 3339 text in UTC, with milliseconds, of seconds since the epoch."""
    return format_ms(int(at * 1000))


@lru_cache(maxsize=4096)
def format_ms(at_ms: int) -> str:
    """Return the text for milliseconds since the epoch; actors that start together share it."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
