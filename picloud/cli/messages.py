"""`picloud messages`: what waits in a queue, one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.groups import ListByDefault
from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.table import Column, print_table
from picloud.cli.wording import first_line, show_age, show_count

if TYPE_CHECKING:
    from picloud.cli.client import Client

_COLUMNS = (
    Column("ID", "id"),
    Column("STATE", "state"),
    Column("PRIORITY", "priority", right=True, spare=3),
    Column("TRIES", "tries", right=True, spare=2),
    Column("SENT", "sent", right=True, spare=1),
    Column("PAYLOAD", "payload", least=20),
)


@click.group("messages", cls=ListByDefault, short_help="Look at a queue's messages; drop or move one.")
def messages_group() -> None:
    """Look at messages without claiming them. `picloud messages APP QUEUE` lists them.

    \b
    picloud messages shop orders --state delayed
    picloud messages show shop orders ID       the whole message
    picloud messages promote shop orders ID    due now
    picloud messages requeue shop orders ID    taken from its handler, whose effects are dropped
    picloud messages delete shop orders ID     gone for good
    """


@messages_group.command("list", short_help="List messages, oldest first (the default).")
@click.argument("app")
@click.argument("queue")
@click.option("--state", type=click.Choice(["ready", "delayed", "claimed"]), help="Only those of one state.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most rows.")
@node_options
@json_option
def list_command(app: str, queue: str, state: str | None, limit: int, node: NodeAddress, as_json: bool) -> None:
    """List the messages of QUEUE of APP."""
    from itertools import islice

    from picloud.cli.client import path
    from picloud.cli.screen import print_json, stdout

    with node.connect() as client:
        where = path("apps", app, "queues", queue, "messages")
        messages = list(islice(client.items(where, state=state), limit))
    if as_json:
        print_json({"items": messages})
    elif not messages:
        click.echo("no messages")
    else:
        print_table(stdout(), _COLUMNS, [_row(message) for message in messages])


@messages_group.command("show", short_help="Show one message.")
@click.argument("app")
@click.argument("queue")
@click.argument("message")
@node_options
@json_option
def show_command(app: str, queue: str, message: str, node: NodeAddress, as_json: bool) -> None:
    """Show MESSAGE of QUEUE of APP, as JSON in any case."""
    from picloud.cli.client import path
    from picloud.cli.screen import print_json

    with node.connect() as client:
        print_json(client.get(path("apps", app, "queues", queue, "messages", message)))


def _operation(name: str, done: str, short_help: str, act: Callable[[Client, Sequence[str]], object]) -> None:
    """Add a command that does `act` to each of some messages."""

    @messages_group.command(name, short_help=short_help, help=f"{short_help} IDs are those of QUEUE of APP.")
    @click.argument("app")
    @click.argument("queue")
    @click.argument("ids", metavar="ID...", nargs=-1, required=True)
    @node_options
    @json_option
    def command(app: str, queue: str, ids: tuple[str, ...], node: NodeAddress, as_json: bool) -> None:
        from picloud.cli.screen import print_json

        with node.connect() as client:
            for message in ids:
                act(client, ("apps", app, "queues", queue, "messages", message))
        if as_json:
            print_json({done: len(ids)})
        else:
            click.echo(f"{done} {show_count(len(ids), 'message')}")


def _delete(client: Client, where: Sequence[str]) -> None:
    from picloud.cli.client import path

    client.delete(path(*where))


def _post(what: str) -> Callable[[Client, Sequence[str]], object]:
    def act(client: Client, where: Sequence[str]) -> object:
        from picloud.cli.client import path

        return client.post(path(*where, what), {})

    return act


_operation("delete", "deleted", "Drop messages that no handler holds, for good.", _delete)
_operation("promote", "promoted", "Make delayed messages due now.", _post("promote"))
_operation("requeue", "requeued", "Take messages from their handlers, whose effects are dropped.", _post("requeue"))


def _row(message: Mapping[str, Any]) -> dict[str, str]:
    import json

    return {
        "id": message["id"],
        "state": message["state"],
        "priority": str(message["priority"]),
        "tries": f"{message['attempt']}/{message['max_attempts']}",
        "sent": show_age(message["enqueued_at"]),
        "payload": first_line(json.dumps(message["payload"], ensure_ascii=False)),
    }
