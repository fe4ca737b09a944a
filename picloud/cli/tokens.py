"""`picloud token`: API tokens, made straight in the database; for when the first one was lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from picloud.cli.options import home_option, json_option
from picloud.errors import DatabaseMisconfigured, InvalidName

if TYPE_CHECKING:
    from picloud.db.connection import Connection

MAX_NAME = 100
"""Characters of a token's name."""


@click.group("token", short_help="Make API tokens, straight in the database.")
def token_group() -> None:
    """API tokens. This needs no token, only access to the database: use it when the first one was lost."""


@token_group.command("create", short_help="Make a token and print it, once.")
@click.argument("name")
@click.option("--save", is_flag=True, help="Also make it the one that commands on this machine use.")
@home_option
@json_option
def create_command(name: str, save: bool, home: Path | None, as_json: bool) -> None:
    """Make a token for NAME (who or what will use it) and print it: only its hash is stored."""
    from picloud.cli.direct import with_connection
    from picloud.cli.screen import print_json

    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise InvalidName(f"token: a name is 1 to {MAX_NAME} printable characters")

    async def create(conn: Connection) -> str:
        return await _create(conn, name)

    token = with_connection(home, create)
    if save:
        _save(home, token)
    if as_json:
        print_json({"name": name, "token": token})
        return
    click.echo(token)
    click.echo("keep it: it is not stored and cannot be shown again", err=True)


async def _create(conn: Connection, name: str) -> str:
    from psycopg.errors import UndefinedTable

    from picloud.db.tokens import create_token

    try:
        return await create_token(conn, name)
    except UndefinedTable as error:
        raise DatabaseMisconfigured(
            "the database has no schema yet: run `picloud migrate` or `picloud up` first"
        ) from error


def _save(home: Path | None, token: str) -> None:
    from picloud.cli.credentials import read_credentials, save_credentials
    from picloud.config import load_settings

    settings = load_settings(home=home)
    stored = read_credentials(settings.home)
    url = stored.url if stored else f"http://{settings.host}:{settings.port}"
    save_credentials(settings.home, url=url, token=token)
