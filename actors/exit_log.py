"""The end of each incarnation of an actor, on the node's log, with the fields of OTP's reports."""

from __future__ import annotations

from typing import Protocol

from picloud.actors.runtime import ExitReport


class Logger(Protocol):
    """A structured logger: structlog's."""

    def debug(self, event: str, /, **fields: object) -> None: ...
    def error(self, event: str, /, **fields: object) -> None: ...


class ExitLog:
    """Write one line for each end: errors as errors, with their traceback; all else for debugging."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def __call__(self, report: ExitReport) -> None:
        """Write the report's fields."""
        fields: dict[str, object] = report._asdict()
        error = fields.pop("error")
        if error is None:
            self._logger.debug("actor ended", **fields)
        else:
            self._logger.error("actor failed", **fields, exc_info=error)
