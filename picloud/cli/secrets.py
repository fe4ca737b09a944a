"""`picloud secrets`: what scripts must know and nobody should read."""

from __future__ import annotations

import sys

import click

from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.table import Column, print_table
from picloud.cli.wording import show_age


@click.group("secrets", short_help="Set, list or delete an app's secrets.")
def secrets_group() -> None:
    """Secrets of an app: its scripts read them with `secrets.get(NAME)`; nobody else can."""


@secrets_group.command("set", short_help="Set a secret; asks for its value, or reads standard input.")
@click.argument("app")
@click.argument("name")
@node_options
def set_command(app: str, name: str, node: NodeAddress) -> None:
    """Set the secret NAME of APP. The value is asked for, or read from standard input where that is no terminal."""
    from picloud.cli.client import path

    if sys.stdin.isatty():
        value = click.prompt("value", hide_input=True, confirmation_prompt=True, err=True)
    else:
        value = sys.stdin.read().removesuffix("\n")
    with node.connect() as client:
        client.put(path("apps", app, "secrets", name), {"value": value})
    click.echo(f"set {name} of {app}")


@secrets_group.command("list", short_help="List the names of an app's secrets.")
@click.argument("app")
@node_options
@json_option
def list_command(app: str, node: NodeAddress, as_json: bool) -> None:
    """List the names of the secrets of APP."""
    from picloud.cli.client import path
    from picloud.cli.screen import print_json, stdout

    with node.connect() as client:
        items = list(client.items(path("apps", app, "secrets")))
    if as_json:
        print_json({"items": items})
    elif not items:
        click.echo("no secrets in this app")
    else:
        columns = (Column("SECRET", "name", style="bold", least=10), Column("UPDATED", "updated"))
        rows = [{"name": item["name"], "updated": f"{show_age(item['updated_at'])} ago"} for item in items]
        print_table(stdout(), columns, rows)


@secrets_group.command("delete", short_help="Forget a secret.")
@click.argument("app")
@click.argument("name")
@node_options
def delete_command(app: str, name: str, node: NodeAddress) -> None:
    """Forget the secret NAME of APP."""
    from picloud.cli.client import path

    with node.connect() as client:
        client.delete(path("apps", app, "secrets", name))
    click.echo(f"deleted {name} of {app}")
