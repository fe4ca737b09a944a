"""`picloud version`: what is installed."""

from __future__ import annotations

import platform

import click

from picloud.cli.options import json_option
from picloud.version import __version__


@click.command("version", short_help="Show versions.")
@json_option
def version_command(as_json: bool) -> None:
    """Show the versions of picloud, Python and what matters most below it."""
    from importlib.metadata import version

    from picloud.cli.screen import print_json

    below = {name: version(name) for name in ("trio", "psycopg", "hypercorn", "quart-trio", "RestrictedPython")}
    if as_json:
        print_json({"picloud": __version__, "python": platform.python_version(), **below})
        return
    click.echo(f"picloud {__version__}")
    click.echo(f"Python {platform.python_version()} ({platform.machine()}, {platform.system()})")
    click.echo(", ".join(f"{name} {number}" for name, number in below.items()))
