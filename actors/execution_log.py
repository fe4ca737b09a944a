"""What handlers log and how they fail, on the node's log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from picloud.engine import Outcome
from picloud.types import Json


class Logger(Protocol):
    """A structured logger: structlog's."""

    def info(self, event: str, /, **fields: Json) -> None: ...
    def warning(self, event: str, /, **fields: Json) -> None: ...


class ExecutionLog:
    """Write log lines and failures of handlers, so many a second at most: a flood must not slow the node down."""

    def __init__(
        self, logger: Logger, *, lines_per_second: int = 200, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger = logger
        self._rate = lines_per_second
        self._clock = clock
        self._lock = threading.Lock()
        self._second = 0
        self._written = 0
        self._dropped = 0

    def __call__(self, outcomes: Sequence[Outcome]) -> None:
        """Take what a slice of executions led to; on a handler's thread."""
        for outcome in outcomes:
            if outcome.logs or not outcome.ok:
                self._write(outcome)

    def _write(self, outcome: Outcome) -> None:
        job = outcome.job
        who: dict[str, Json] = {"app": job.app_name, "script": job.script.name}
        for line in outcome.logs:
            self._emit(line.level, line.message, {**who, **_safe(line.fields)})
        if outcome.error is not None and not outcome.cancelled:
            error = outcome.error
            at = {} if error.line is None else {"line": error.line}
            self._emit("warning", "handler failed", {**who, "error": f"{error.type}: {error.message}", **at})

    def _emit(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        if not self._has_room():
            return
        write = self._logger.warning if level in ("warning", "error") else self._logger.info
        write(message, **fields)

    def _has_room(self) -> bool:
        with self._lock:
            second = int(self._clock())
            dropped = 0
            if second != self._second:
                dropped, self._dropped = self._dropped, 0
                self._second, self._written = second, 0
            self._written += 1
            room = self._written <= self._rate
            self._dropped += not room
        if dropped:
            self._logger.warning("log lines of handlers dropped", count=dropped, limit_per_second=self._rate)
        return room


def _safe(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Field names of the author must not collide with the logger's own."""
    reserved = {"event", "level", "timestamp", "app", "script", "exc_info", "stack_info"}
    return {(f"{name}_" if name in reserved else name): value for name, value in fields.items()}


def tell_all(*sinks: Callable[[Sequence[Outcome]], None]) -> Callable[[Sequence[Outcome]], None]:
    """Return a sink that hands outcomes on to each of `sinks`, in order."""

    def tell(outcomes: Sequence[Outcome]) -> None:
        for sink in sinks:
            sink(outcomes)

    return tell
