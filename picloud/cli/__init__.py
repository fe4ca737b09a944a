"""The command line. One file per command; a command's file is imported when the command is run.

Where to look: `commands` lists all commands; `options` has the options they share; `client` talks to a node with the
`credentials` that `picloud up` left; `screen` and `table` print; `failures` shows errors.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from picloud.cli.entry import Entrypoints


def main(entry: Entrypoints, args: Sequence[str] | None = None) -> NoReturn:
    """Run the command that `args` (default: the process's) name, and exit with its code."""
    from picloud.cli.commands import root
    from picloud.cli.failures import run_command_line

    given = list(sys.argv[1:] if args is None else args)
    sys.exit(run_command_line(root, given, entry))
