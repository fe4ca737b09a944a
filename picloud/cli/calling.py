"""Commands of ours as text to copy: they work where they are pasted."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path


def show_command(words: Sequence[str], *, program: str | None = None) -> str:
    """Return a command line that runs this program with `words`."""
    return f"{program or find_program()} {shlex.join(words)}"


def find_program() -> str:
    """Return how to call this program: by its name where the shell finds it, else by its path."""
    called = Path(sys.argv[0])
    found = shutil.which("picloud")
    if called.name != "picloud" or (found is not None and Path(found).resolve() == called.resolve()):
        return "picloud"
    path = called.absolute()
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))
