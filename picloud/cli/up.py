"""`picloud up`: start a node, deploy an app folder, say where it is and what to try."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.calling import find_program, show_command
from picloud.cli.entry import Entrypoints, NodeInfo, NodeOptions
from picloud.cli.options import home_option, json_option

if TYPE_CHECKING:
    from rich.console import Console

    from picloud.manifest import Manifest

PAYLOADS = "payloads.jsonl"
"""Messages to try that an app folder may bring along."""


@click.command("up", short_help="Start a node, and deploy an app folder.")
@click.argument("app_dir", required=False, type=click.Path(path_type=Path))
@click.option("--host", help="Address to listen on. Default: 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0: any free one. Default: 8080.")
@home_option
@json_option
@click.pass_obj
def up_command(
    entry: Entrypoints, app_dir: Path | None, host: str | None, port: int | None, home: Path | None, as_json: bool
) -> int:
    """Start a node; with APP_DIR, deploy that app folder first.

    Without DATABASE_URL it brings its own PostgreSQL, in the data folder. Ctrl-C drains: handlers that run may
    finish; a second Ctrl-C ends at once.
    """
    from picloud.config import load_settings
    from picloud.manifest import load_manifest

    settings = load_settings(home=home, host=host, port=port)
    manifest = None if app_dir is None else load_manifest(app_dir)
    announce = partial(_announce, manifest=manifest, as_json=as_json)
    return entry.run_node(settings, NodeOptions(manifest, announce))


def _announce(info: NodeInfo, *, manifest: Manifest | None, as_json: bool) -> None:
    from picloud.cli.credentials import save_credentials
    from picloud.cli.screen import print_json, stdout

    try:
        save_credentials(info.home, url=info.url, token=info.token)
    except OSError as error:
        click.echo(f"Warning: cannot write {info.home}/client.json: {error.strerror}", err=True)
    if as_json:
        print_json(_as_json(info))
    else:
        print_welcome(stdout(), info, manifest, program=find_program())
    sys.stdout.flush()


def print_welcome(console: Console, info: NodeInfo, manifest: Manifest | None, *, program: str) -> None:
    """Print where the node is, what was deployed, and commands to copy."""
    from rich.text import Text

    from picloud.cli.diff import print_diff
    from picloud.version import __version__

    console.print(Text.assemble("\n", ("picloud ", "bold green"), (__version__, "green"), " is running\n"))
    for label, value, note in _facts(info, manifest):
        line = Text.assemble("  ", (f"{label:<10}", "dim"), (value, "bold"), (f"  {note}" if note else "", "yellow"))
        # a URL or token broken over two lines cannot be copied
        console.print(line, soft_wrap=True)
    if info.deployed is not None:
        print_diff(console, asdict(info.deployed), indent="            ")
        for warning in info.deployed.warnings:
            console.print(Text(f"  warning   {warning}", style="yellow"), soft_wrap=True)
    console.print(Text("\nTry next, in another terminal:\n", style="bold"))
    for command in _next_commands(info, manifest, program):
        console.print(Text.assemble("  ", (command, "cyan")), soft_wrap=True)
    console.print(Text("\nCtrl-C stops the node; handlers that run may finish.\n", style="dim"))


def _facts(info: NodeInfo, manifest: Manifest | None) -> Iterator[tuple[str, str, str]]:
    from picloud.cli.diff import summarise

    yield "URL", info.url, ""
    if info.token is not None:
        yield "Token", info.token, "keep it: it is shown only this once"
    if info.smtp is not None:
        yield "Mail", info.smtp, ""
    elif manifest is not None and manifest.email_triggers:
        yield "Mail", "none", "the app has email triggers: set PICLOUD_SMTP_PORT to receive mails"
    yield "Data", str(info.home), ""
    yield "Database", info.database, ""
    if info.deployed is not None:
        yield "App", info.deployed.app, summarise(asdict(info.deployed))


def _next_commands(info: NodeInfo, manifest: Manifest | None, program: str) -> list[str]:
    where = [] if info.home == _usual_home() else ["--data-dir", str(info.home)]
    commands = [["tree", "--watch", *where]]
    if manifest is None:
        commands.insert(0, ["apps", *where])
    else:
        commands[:0] = [["queues", manifest.app, *where], ["dead", manifest.app, *where]]
    if manifest is not None and manifest.queue_triggers:
        queue = manifest.queue_triggers[0].queue
        commands.insert(0, ["send", manifest.app, queue, _something_to_send(manifest), *where])
    shown = [show_command(command, program=program) for command in commands]
    if manifest is not None and manifest.http_triggers:
        route = manifest.http_triggers[0]
        shown.insert(0, f"curl -X {route.method} {info.url}/fn/{manifest.app}{route.path}")
    return shown


def _something_to_send(manifest: Manifest) -> str:
    if manifest.folder is not None and (manifest.folder / PAYLOADS).is_file():
        return f"@{manifest.folder / PAYLOADS}"
    return '{"hello": "world"}'


def _usual_home() -> Path:
    """Return the data folder that a new terminal would use."""
    from picloud.config import default_home

    return default_home({name: value for name, value in os.environ.items() if name != "PICLOUD_HOME"})


def _as_json(info: NodeInfo) -> dict[str, Any]:
    deployed = None if info.deployed is None else {**asdict(info.deployed), "changed": info.deployed.changed}
    return {
        "url": info.url,
        "smtp": info.smtp,
        "token": info.token,
        "home": str(info.home),
        "database": info.database,
        "deployed": deployed,
        "pid": info.pid,
    }
