"""`picloud running`, `picloud cancel`: what runs now, and how to end it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.table import Column, print_table
from picloud.cli.wording import show_age

if TYPE_CHECKING:
    from picloud.cli.client import Client

_COLUMNS = (
    Column("EXECUTION", "id"),
    Column("SCRIPT", "script", style="bold", least=10),
    Column("QUEUE", "queue", least=10, spare=1),
    Column("FOR", "age", right=True),
    Column("MESSAGE", "message", spare=2),
    Column("NODE", "node", spare=3),
)
_APP = Column("APP", "app", least=10)


@click.command("running", short_help="List executions that run now, on all nodes.")
@click.argument("app", required=False)
@node_options
@json_option
def running_command(app: str | None, node: NodeAddress, as_json: bool) -> None:
    """List the executions of APP, or of all apps, that run now, oldest first.

    Of other nodes than the one asked, those that run for more than a second.
    """
    from picloud.cli.queues import app_names
    from picloud.cli.screen import print_json, stdout

    with node.connect() as client:
        items = [one for name in app_names(client, app) for one in _list_running(client, name)]
    if as_json:
        print_json({"items": items})
    elif not items:
        click.echo("nothing runs")
    else:
        print_table(stdout(), _COLUMNS if app else (_APP, *_COLUMNS), [_row(one) for one in items])


@click.command("cancel", short_help="Ask a running execution to end.")
@click.argument("app")
@click.argument("execution")
@click.option("--discard", is_flag=True, help="Do not try its message again: keep it as a resolved dead letter.")
@node_options
@json_option
def cancel_command(app: str, execution: str, discard: bool, node: NodeAddress, as_json: bool) -> None:
    """Ask EXECUTION of APP to end: it does at its next tick, on whichever node it runs. What it did is dropped.

    Its message is tried again as after a failure, unless --discard. `picloud running` lists what runs.
    """
    from picloud.cli.client import path
    from picloud.cli.screen import print_json

    with node.connect() as client:
        answer = client.post(path("apps", app, "executions", execution, "cancel"), {"discard": discard})
    if as_json:
        print_json(answer)
    else:
        click.echo(f"requested: {execution} ends at its next tick" + (", its message is discarded" if discard else ""))


def _list_running(client: Client, app: str) -> Iterator[dict[str, Any]]:
    from picloud.cli.client import path

    for one in client.items(path("apps", app, "executions", "running")):
        yield {"app": app, **one}


def _row(one: Mapping[str, Any]) -> dict[str, str]:
    return {
        "app": one["app"],
        "id": one["id"],
        "script": one["script"] + (" (cancelling)" if one["cancelling"] else ""),
        "queue": one["queue_name"] or one["source"],
        "age": show_age(one["started_at"]),
        "message": one["message_id"] or "-",
        "node": one["node_id"],
    }
