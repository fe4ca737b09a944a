"""`picloud db`: the embedded PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.options import home_option, json_option
from picloud.errors import DatabaseMisconfigured

if TYPE_CHECKING:
    from picloud.db.embedded import EmbeddedPostgres, ServerStatus


@click.group("db", short_help="Start, stop or look into the embedded PostgreSQL.")
def db_group() -> None:
    """The embedded PostgreSQL of the data folder. A node starts and stops it by itself; these are for when none runs.

    With DATABASE_URL set, picloud uses that database, and these commands do nothing.
    """


@db_group.command("start", short_help="Start the server, and leave it running.")
@home_option
@json_option
def start_command(home: Path | None, as_json: bool) -> None:
    """Start the server; it runs until `picloud db stop`. The first start makes the data folder."""
    postgres = _embedded(home)
    postgres.start(keep=True)
    postgres.stop()  # our use of it: the server stays
    _show(postgres.status(), as_json)


@db_group.command("stop", short_help="Stop the server.")
@click.option("--force", is_flag=True, help="Even while a node uses it.")
@home_option
@json_option
def stop_command(force: bool, home: Path | None, as_json: bool) -> None:
    """Stop the server, also one that `picloud db start` left running."""
    from picloud.errors import EmbeddedPostgresError

    postgres = _embedded(home)
    was_running = postgres.status().state in {"running", "starting"}
    if was_running and not postgres.shut_down(force=force):
        raise EmbeddedPostgresError("another process uses the server: stop `picloud up` first, or add --force")
    if as_json:
        _show(postgres.status(), as_json)
    else:
        click.echo("stopped" if was_running else "no server was running")


@db_group.command("status", short_help="Tell whether the server runs, and where.")
@home_option
@json_option
def status_command(home: Path | None, as_json: bool) -> None:
    """Tell whether the server runs, and where its data is."""
    _show(_embedded(home).status(), as_json)


@db_group.command("psql", short_help="Open psql on the database.", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", metavar="[PSQL ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@home_option
def psql_command(arguments: tuple[str, ...], home: Path | None) -> None:
    """Open psql on the running server; what follows goes to psql: `picloud db psql -c 'select 1'`."""
    from picloud.errors import EmbeddedPostgresError

    postgres = _embedded(home)
    if postgres.status().state != "running":
        raise EmbeddedPostgresError("the server does not run: start it with `picloud db start` or `picloud up`")
    argv, env = postgres.psql(*arguments)
    try:
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        raise EmbeddedPostgresError(f"cannot run {argv[0]}: {error.strerror}") from error


def _embedded(home: Path | None) -> EmbeddedPostgres:
    from picloud.config import load_settings
    from picloud.db.dsn import redact_dsn
    from picloud.db.embedded import EmbeddedPostgres

    settings = load_settings(home=home)
    if settings.database_url is not None:
        raise DatabaseMisconfigured(
            f"DATABASE_URL is set ({redact_dsn(settings.database_url)}): the embedded PostgreSQL is not used"
        )
    return EmbeddedPostgres(settings.home, binaries=settings.pg_bin)


def _show(status: ServerStatus, as_json: bool) -> None:
    from picloud.cli.screen import print_json

    values = _values(status)
    if as_json:
        print_json(values)
        return
    for name, value in values.items():
        if value is not None:
            click.echo(f"{name.replace('_', ' '):<12}{'yes' if value is True else 'no' if value is False else value}")


def _values(status: ServerStatus) -> dict[str, Any]:
    return {
        "state": status.state,
        "pid": status.pid,
        "version": status.version,
        "data_dir": str(status.data_dir),
        "socket_dir": str(status.socket_dir) if status.socket_dir else None,
        "dsn": status.dsn,
        "kept": status.kept,
        "in_use": status.in_use,
    }
