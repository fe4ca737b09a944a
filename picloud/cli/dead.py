"""`picloud dead`: messages whose handler failed for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.groups import ListByDefault
from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.table import Column, print_table
from picloud.cli.wording import first_line, show_age, show_count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from picloud.cli.client import Client

REPLAY_BATCH = 1000

_COLUMNS = (
    Column("ID", "id"),
    Column("QUEUE", "queue", style="bold", least=10, spare=1),
    Column("TRIES", "attempts", right=True, spare=3),
    Column("DIED", "died", right=True, spare=2),
    Column("ERROR", "error", style="red", least=28),
)
_APP = Column("APP", "app", least=10)


@click.group("dead", cls=ListByDefault, short_help="List, show, replay or discard dead letters.")
def dead_group() -> None:
    """Look at dead letters: messages whose handler failed too often. `picloud dead APP` lists them.

    \b
    picloud dead shop                      what died, newest first
    picloud dead show shop ID              the error, its place in the script, the payload
    picloud dead replay shop ID            back into its queue
    picloud dead replay shop --all         all of them
    picloud dead discard shop ID           gone for good
    """


@dead_group.command("list", short_help="List dead letters, newest first (the default).")
@click.argument("app", required=False)
@click.option("--queue", help="Only those of one queue.")
@click.option("--resolved", is_flag=True, help="Those replayed, too.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most rows of each app.")
@node_options
@json_option
def list_command(
    app: str | None, queue: str | None, resolved: bool, limit: int, node: NodeAddress, as_json: bool
) -> None:
    """List the dead letters of APP, or of all apps."""
    from picloud.cli.queues import app_names
    from picloud.cli.screen import print_json, stdout

    with node.connect() as client:
        apps = app_names(client, app)
        letters = [letter for name in apps for letter in _list_letters(client, name, queue, resolved, limit)]
    if as_json:
        print_json({"items": letters})
    elif not letters:
        click.echo("no dead letters")
    else:
        print_table(stdout(), _COLUMNS if app else (_APP, *_COLUMNS), [_row(letter) for letter in letters])


@dead_group.command("show", short_help="Show one dead letter: error, place, payload.")
@click.argument("app")
@click.argument("letter_id", metavar="ID")
@node_options
@json_option
def show_command(app: str, letter_id: str, node: NodeAddress, as_json: bool) -> None:
    """Show the dead letter ID of APP."""
    from picloud.cli.client import path
    from picloud.cli.screen import print_json, stdout

    with node.connect() as client:
        letter = client.get(path("apps", app, "dead_letters", letter_id))
    if as_json:
        print_json(letter)
    else:
        print_letter(stdout(), letter)


@dead_group.command("replay", short_help="Put dead letters back into their queues.")
@click.argument("app")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All that are not replayed yet.")
@click.option("--queue", help="With --all: only those of one queue.")
@node_options
@json_option
def replay_command(
    app: str, ids: tuple[str, ...], everything: bool, queue: str | None, node: NodeAddress, as_json: bool
) -> None:
    """Put dead letters of APP back into their queues, with all attempts before them."""
    from picloud.cli.screen import print_json

    if bool(ids) == everything:
        raise click.UsageError("give the ids of dead letters, or --all")
    if queue is not None and not everything:
        raise click.UsageError("--queue goes with --all")
    with node.connect() as client:
        if everything:
            replayed = list(_replay_all(client, app, queue))
        else:
            replayed = [_replay(client, app, letter_id) for letter_id in ids]
    if as_json:
        print_json({"items": replayed, "replayed": len(replayed)})
    else:
        click.echo(f"replayed {show_count(len(replayed), 'dead letter')}")


@dead_group.command("discard", short_help="Delete dead letters for good.")
@click.argument("app")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@node_options
@json_option
def discard_command(app: str, ids: tuple[str, ...], node: NodeAddress, as_json: bool) -> None:
    """Delete dead letters of APP for good."""
    from picloud.cli.client import path
    from picloud.cli.screen import print_json

    with node.connect() as client:
        for letter_id in ids:
            client.delete(path("apps", app, "dead_letters", letter_id))
    if as_json:
        print_json({"discarded": len(ids)})
    else:
        click.echo(f"discarded {show_count(len(ids), 'dead letter')}")


def print_letter(console: Console, letter: Mapping[str, Any]) -> None:
    """Print one dead letter for people."""
    import json

    from rich.text import Text

    for label, value in _facts(letter):
        console.print(Text.assemble((f"{label:<10}", "dim"), value), soft_wrap=True)
    if letter["error"] is not None:
        console.print()
        for line in _error_lines(letter["error"]):
            console.print(line, soft_wrap=True)
    console.print(Text("\npayload", style="dim"))
    payload = json.dumps(letter["event"].get("payload"), ensure_ascii=False, indent=2)
    console.print(Text(payload), soft_wrap=True)


def _list_letters(client: Client, app: str, queue: str | None, resolved: bool, limit: int) -> Iterator[dict[str, Any]]:
    from itertools import islice

    from picloud.cli.client import path

    query = {"queue_name": queue, "include_resolved": "true" if resolved else None}
    for letter in islice(client.items(path("apps", app, "dead_letters"), **query), limit):
        yield {"app": app, **letter}


def _replay(client: Client, app: str, letter_id: str) -> dict[str, Any]:
    from picloud.cli.client import path

    replayed: dict[str, Any] = client.post(path("apps", app, "dead_letters", letter_id, "replay"), {})
    return replayed


def _replay_all(client: Client, app: str, queue: str | None) -> Iterator[dict[str, Any]]:
    from picloud.cli.client import path

    body = {} if queue is None else {"queue_name": queue}
    # what dies again meanwhile is left for the next call, or this one might never end
    left = sum(found["dead"] for found in client.items(path("apps", app, "queues")) if queue in {None, found["name"]})
    while left > 0:
        limit = min(left, REPLAY_BATCH)
        items = client.post(path("apps", app, "dead_letters", "replay"), {**body, "limit": limit})["items"]
        yield from items
        left -= limit
        if len(items) < limit:
            return


def _row(letter: Mapping[str, Any]) -> dict[str, str]:
    return {
        "app": letter["app"],
        "id": letter["id"],
        "queue": letter["queue_name"] or "-",
        "attempts": str(letter["attempts"]),
        "died": show_age(letter["died_at"]),
        "error": _error_text(letter),
    }


def _error_text(letter: Mapping[str, Any]) -> str:
    error = letter["error"]
    if error is None:
        return str(letter["reason"]).replace("_", " ")
    place = f" (line {error['line']})" if error.get("line") else ""
    return first_line(f"{error['type']}: {error['message']}") + place


def _facts(letter: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "id", letter["id"]
    yield "queue", letter["queue_name"] or "-"
    yield "script", letter["script"] or "-"
    yield "reason", f"{str(letter['reason']).replace('_', ' ')}, {show_count(letter['attempts'], 'attempt')}"
    yield "enqueued", f"{letter['enqueued_at']} ({show_age(letter['enqueued_at'])} ago)"
    yield "died", f"{letter['died_at']} ({show_age(letter['died_at'])} ago)"
    if letter["resolution"]:
        to = f" as message {letter['replay_message_id']}" if letter["replay_message_id"] else ""
        yield "resolved", f"{letter['resolution']} {show_age(letter['resolved_at'])} ago{to}"


def _error_lines(error: Mapping[str, Any]) -> Iterator[Text]:
    from rich.text import Text

    yield Text.assemble((f"{error['type']}: ", "bold red"), (str(error["message"]), "red"))
    for frame in error.get("stack") or ():
        place = f"  {frame['script']}, line {frame['line']}, in {frame['function']}"
        yield Text.assemble((place, "dim"), f"\n    {frame['source']}" if frame.get("source") else "")
