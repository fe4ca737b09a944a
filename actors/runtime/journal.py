"""What the runtime tells the outside: events for those who watch, and a report of each exit for the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal, NamedTuple

from picloud.actors.runtime.events import EventStream
from picloud.actors.runtime.spec import Restart

ReportContext = Literal["start_error", "child_terminated", "shutdown", "shutdown_error"]
"""OTP's: a start failed · ended unasked · ended as asked · failed while it ended, or would not end."""

logger = logging.getLogger("picloud.actors")


class ExitReport(NamedTuple):
    """OTP's report fields of one exit."""

    supervisor: str
    """Path of the supervisor."""
    context: ReportContext
    reason: str
    """normal, shutdown, or the error's type and text."""
    child_id: str
    restart: Restart
    incarnation: int
    error: BaseException | None
    """With its traceback: use it and let it go."""


def log_report(report: ExitReport) -> None:
    """Write a report to the standard library's log: errors as errors, all else for debugging."""
    level = logging.DEBUG if report.error is None else logging.ERROR
    if logger.isEnabledFor(level):
        fields = " ".join(f"{name}={value}" for name, value in zip(report._fields[:-1], report, strict=False))
        logger.log(level, "child ended: %s", fields, exc_info=report.error, extra={"report": report})


class Journal:
    """Where a tree writes down what happens to its children. The root has one; the others inherit it."""

    __slots__ = ("_report", "events")

    def __init__(
        self, events: EventStream | None = None, report: Callable[[ExitReport], None] | None = log_report
    ) -> None:
        self.events = EventStream() if events is None else events
        self._report = report

    def report(self, report: ExitReport) -> None:
        """Hand a report to the hook; an error of the hook is logged and never reaches a supervisor."""
        if self._report is None:
            return
        try:
            self._report(report)
        except Exception:
            logger.exception("the hook for exit reports failed")
