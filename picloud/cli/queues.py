"""`picloud queues`: what is in the queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.table import Column, print_table
from picloud.cli.wording import show_seconds

if TYPE_CHECKING:
    from picloud.cli.client import Client

_COLUMNS = (
    Column("QUEUE", "name", style="bold", least=10),
    Column("READY", "ready", right=True, style="green"),
    Column("DELAYED", "delayed", right=True, style="yellow", spare=2),
    Column("CLAIMED", "claimed", right=True, style="cyan", spare=1),
    Column("DEAD", "dead", right=True, style="bold red"),
    Column("OLDEST", "oldest", right=True, spare=3),
    Column("CONSUMER", "consumer", spare=4, least=10),
)
_APP = Column("APP", "app", least=10)


@click.command("queues", short_help="Show what is in the queues.")
@click.argument("app", required=False)
@node_options
@json_option
def queues_command(app: str | None, node: NodeAddress, as_json: bool) -> None:
    """Show the queues of APP, or of all apps: exact counts, each message in one column.

    OLDEST is how long the longest waiting message has been ready.
    """
    from picloud.cli.screen import print_json, stdout

    with node.connect() as client:
        queues = [queue for name in app_names(client, app) for queue in _list_queues(client, name)]
    if as_json:
        print_json({"items": queues})
    elif not queues:
        click.echo("no queues yet: a queue appears with its first message or trigger")
    else:
        print_table(stdout(), _COLUMNS if app else (_APP, *_COLUMNS), [_row(queue) for queue in queues])


def app_names(client: Client, app: str | None) -> list[str]:
    """Return the app that was named, or all apps."""
    return [app] if app else [found["name"] for found in client.items("/apps")]


def _list_queues(client: Client, app: str) -> Iterator[dict[str, Any]]:
    from picloud.cli.client import path

    for queue in client.items(path("apps", app, "queues")):
        yield {"app": app, **queue}


def _row(queue: Mapping[str, Any]) -> dict[str, str]:
    counts = {name: f"{queue[name]}" for name in ("ready", "delayed", "claimed", "dead")}
    consumer = queue["consumer"]
    script = "-" if consumer is None else consumer["script"] + ("" if consumer["enabled"] else " (disabled)")
    return {
        "app": queue["app"],
        "name": queue["name"],
        **counts,
        "oldest": show_seconds(queue["oldest_ready_age_secs"]),
        "consumer": script,
    }
