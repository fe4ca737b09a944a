"""Log lines of this execution. `print` logs, too, at level info.

Any value can be logged; control characters are escaped, and what is past the limits of an execution is counted, not
kept. Lines stay when the handler fails.
"""

from __future__ import annotations

from picloud.sdk.outside import refuse


def debug(message: object, /, **fields: object) -> None:
    """Log `message` for who looks closely."""
    refuse("log.debug")


def info(message: object, /, **fields: object) -> None:
    """Log `message` with fields: `log.info("priced", order=7)`."""
    refuse("log.info")


def warning(message: object, /, **fields: object) -> None:
    """Log `message` as something to look at."""
    refuse("log.warning")


def error(message: object, /, **fields: object) -> None:
    """Log `message` as something that went wrong."""
    refuse("log.error")
