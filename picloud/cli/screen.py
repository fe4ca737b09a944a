"""What is printed, and where: results on stdout, progress and errors on stderr; plain where nobody looks."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 4096
"""Columns of an output that is no terminal: nothing is wrapped or cut for it."""


def stdout() -> Console:
    """Return the console for results."""
    return _console(stderr=False)


def stderr() -> Console:
    """Return the console for progress and warnings."""
    return _console(stderr=True)


def print_json(value: Any) -> None:
    """Print a result as JSON: indented for people, one line for programs."""
    indent = 2 if sys.stdout.isatty() else None
    click.echo(json.dumps(value, ensure_ascii=False, default=str, indent=indent))


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=PLAIN_WIDTH)
