"""The ways in which the sandbox refuses."""

from __future__ import annotations


class BudgetExceeded(BaseException):
    """The execution is over: its time, memory or output ran out, or somebody stopped it.

    Not an Exception, and its name is out of reach: a script can neither catch nor raise it. The text is the reason.
    """


class LimitError(Exception):
    """One operation was refused because its result would be too large. A script may catch it and go on."""


class EntryMissing(Exception):
    """The script has no function of the wanted name; the text says what to define."""


class ExportError(TypeError):
    """The value cannot leave the script as JSON; the text names the path and the type."""
