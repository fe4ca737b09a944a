"""The log lines of one execution: capped, and harmless to whoever shows or stores them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from picloud.engine.sandbox import escape_controls
from picloud.types import ExecutionId, Json, LogLevel, LogLine

MAX_MESSAGE_CHARS = 16_000


class LogBuffer:
    """Lines up to a number and a size; what comes after is counted."""

    __slots__ = ("_bytes_left", "_dropped", "_lines", "_lines_left")

    def __init__(self, max_lines: int, max_bytes: int) -> None:
        self._lines: list[LogLine] = []
        self._lines_left = max_lines
        self._bytes_left = max_bytes
        self._dropped = 0

    def add(
        self,
        level: LogLevel,
        message: str,
        fields: Mapping[str, Json] | None = None,
        size_bytes: int = 0,
        callee_id: ExecutionId | None = None,
    ) -> None:
        """Keep a line; `size_bytes` is what its fields take."""
        text = clean_text(message, MAX_MESSAGE_CHARS)
        size_bytes += len(text) + 1
        if self._lines_left <= 0 or size_bytes > self._bytes_left:
            self._dropped += 1
            return
        self._lines_left -= 1
        self._bytes_left -= size_bytes
        self._lines.append(LogLine(level, text, fields or {}, time.time(), callee_id))

    def is_full(self) -> bool:
        """Count a line and say True when there is no room for any."""
        if self._lines_left > 0 and self._bytes_left > 0:
            return False
        self._dropped += 1
        return True

    def lines(self, dropped_before: int = 0) -> tuple[LogLine, ...]:
        """Return the lines; the last one says how many more there were."""
        dropped = self._dropped + dropped_before
        if dropped:
            note = f"{dropped} more line{'s' if dropped != 1 else ''} not kept: past the log limit"
            self._lines.append(LogLine("warning", note, {}, time.time()))
        return tuple(self._lines)


def clean_text(text: str, max_chars: int) -> str:
    """Return `text` as PostgreSQL and terminals can carry it: shortened, controls and lone surrogates escaped."""
    if len(text) > max_chars:
        text = text[: max_chars - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return escape_controls(text.encode("utf-8", "backslashreplace").decode())


def clean_json(value: Json) -> Json:
    """Return plain JSON data with every text in it cleaned."""
    if isinstance(value, str):
        return clean_text(value, MAX_MESSAGE_CHARS)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(name, 200): clean_json(item) for name, item in value.items()}
    return value
