"""Durations as people write them: `30s`, `5m`, `1.5h`, or plain seconds."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from picloud.errors import InvalidInput

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*")

MAX_DELAY = 366 * 86400.0
"""Seconds; a message cannot be delayed by more than about a year."""


def parse_duration(value: object, *, what: str = "delay") -> float:
    """Return `value` in seconds: a number of seconds, a timedelta, or text such as "90s", "1h30m", "250ms".

    Units: seconds, from 0 to `MAX_DELAY`.
    Raises: InvalidInput that names `what` and the forms to use.
    """
    seconds = _seconds(value)
    if seconds is None or not math.isfinite(seconds):
        raise InvalidInput(
            f"{what}: cannot read {_shown(value)} as a duration (use seconds, or text like '30s', '5m', '1h30m')"
        )
    if not 0 <= seconds <= MAX_DELAY:
        raise InvalidInput(f"{what}: {_shown(value)} is out of range (0 to 366 days)")
    return seconds


def _seconds(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        # an int past the range of float is out of range, not a crash
        return float(max(-1, min(value, 10**12)))
    if isinstance(value, float):
        return value
    if isinstance(value, timedelta):
        return value.total_seconds()
    if not isinstance(value, str) or len(value) > 100:
        return None
    text = value.strip().lower()
    parts = _PART.findall(text)
    if parts and _PART.sub("", text) == "":
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        return float(text)
    except ValueError:
        return None


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | timedelta) else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
