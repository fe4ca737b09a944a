"""Structured logs on standard error: for people on a terminal, JSON lines elsewhere."""

from __future__ import annotations

import logging
import sys
from typing import Literal

import structlog


def configure_logs(form: Literal["auto", "console", "json"], level: str) -> None:
    """Set up structlog once per process; the standard library's loggers go the same way."""
    console = form == "console" or (form == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if console else "iso", utc=not console),
    ]
    structlog.configure(
        processors=[*shared, *_render(console)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", force=True
    )


def _render(console: bool) -> list[structlog.typing.Processor]:
    if not console:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    colors = sys.stderr.isatty()
    return [
        structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=30, exception_formatter=structlog.dev.plain_traceback)
    ]
