"""How an incarnation ended, in words that a person or a log can use."""

from __future__ import annotations

from typing import Literal, NamedTuple

ExitReason = Literal["normal", "shutdown", "error"]
"""normal: returned unasked. shutdown: ended because it was asked to. error: everything else."""

MAX_MESSAGE_CHARS = 500


class Exit(NamedTuple):
    """The end of one incarnation. Holds no exception: a traceback would keep the actor's frames alive.

    Units: `at` in seconds since the epoch.
    """

    reason: ExitReason
    error_type: str | None
    message: str | None
    at: float


def describe_exit(reason: ExitReason, error: BaseException | None, at: float) -> Exit:
    """Return the record of an end."""
    if error is None:
        return Exit(reason, None, None, at)
    return Exit(reason, *describe_error(error), at)


def describe_error(error: BaseException) -> tuple[str, str]:
    """Return the type and the text of an error.

    Shape: a group shows its leaves; a group of one is shown as that one, since Trio's nurseries wrap each error.
    """
    leaves = list_leaves(error)
    if len(leaves) == 1:
        return type(leaves[0]).__name__, shorten(str(leaves[0]))
    return type(error).__name__, shorten("; ".join(f"{type(leaf).__name__}: {leaf}" for leaf in leaves))


def list_leaves(error: BaseException) -> list[BaseException]:
    """Return the errors of a group, however deep; an error that is no group alone."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in list_leaves(inner)]


def shorten(text: str) -> str:
    """Cut a text to what a tree or a log line can show."""
    return text if len(text) <= MAX_MESSAGE_CHARS else text[: MAX_MESSAGE_CHARS - 1] + "…"
