"""`picloud dead`: messages whose handler failed for good."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.groups import ListByDefault
from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.table import Column, print_table
from picloud.cli.wording import first_line, show_age, show_count
from picloud.durations import parse_duration
from picloud.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from picloud.cli.client import Client

REPLAY_BATCH = 1000
_REASONS = ["attempts_exhausted", "lease_expired", "cancelled", "expired"]

_COLUMNS = (
    Column("ID", "id"),
    Column("QUEUE", "queue", style="bold", least=10, spare=1),
    Column("TRIES", "attempts", right=True, spare=3),
    Column("DIED", "died", right=True, spare=2),
    Column("ERROR", "error", style="red", least=28),
)
_APP = Column("APP", "app", least=10)


@click.group("dead", cls=ListByDefault, short_help="List, show, replay, discard or delete dead letters.")
def dead_group() -> None:
    """Look at dead letters: messages whose handler failed too often. `picloud dead APP` lists them.

    \b
    picloud dead shop                      what died, newest first
    picloud dead show shop ID              the error, its place in the script, the payload
    picloud dead replay shop ID            back into its queue
    picloud dead replay shop --all         all of them
    picloud dead replay shop --all --error KeyError --since 2h --rate 50
    picloud dead discard shop ID           nothing is to be done about it
    picloud dead delete shop ID            gone for good
    """


def filter_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add what dead letters can be chosen by; the command gets it as `wanted`, ready for the API."""

    @click.option("--queue", help="Only those of one queue.")
    @click.option("--script", help="Only those of one script.")
    @click.option("--error", help="Only those with one type of error, such as ValueError.")
    @click.option("--reason", type=click.Choice(_REASONS), help="Only those that died for it.")
    @click.option("--since", metavar="WHEN", help="Only those that died since: 2h ago, or 2026-12-01T08:30:00Z.")
    @click.option("--until", metavar="WHEN", help="Only those that died before.")
    @functools.wraps(command)
    def with_filter(*args: Any, **given: Any) -> None:
        wanted = {
            "queue_name": given.pop("queue"),
            "script": given.pop("script"),
            "error_type": given.pop("error"),
            "reason": given.pop("reason"),
            "died_after": _read_moment("--since", given.pop("since")),
            "died_before": _read_moment("--until", given.pop("until")),
        }
        command(*args, wanted={name: value for name, value in wanted.items() if value is not None}, **given)

    return with_filter


@dead_group.command("list", short_help="List dead letters, newest first (the default).")
@click.argument("app", required=False)
@filter_options
@click.option("--resolved", is_flag=True, help="Those replayed or discarded, too.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most rows of each app.")
@node_options
@json_option
def list_command(
    app: str | None, wanted: dict[str, str], resolved: bool, limit: int, node: NodeAddress, as_json: bool
) -> None:
    """List the dead letters of APP, or of all apps."""
    from picloud.cli.queues import app_names
    from picloud.cli.screen import print_json, stdout

    query = {**wanted, "include_resolved": "true" if resolved else None}
    with node.connect() as client:
        apps = app_names(client, app)
        letters = [letter for name in apps for letter in _list_letters(client, name, query, limit)]
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
@click.option("--all", "everything", is_flag=True, help="All that are open and that the other options choose.")
@filter_options
@click.option("--rate", type=click.FloatRange(0.001, 100_000), metavar="N", help="So many become due in a second.")
@click.option("--to", "to_queue", metavar="QUEUE", help="Into another queue; only messages of queues can go.")
@node_options
@json_option
def replay_command(
    app: str,
    ids: tuple[str, ...],
    everything: bool,
    wanted: dict[str, str],
    rate: float | None,
    to_queue: str | None,
    node: NodeAddress,
    as_json: bool,
) -> None:
    """Put dead letters of APP back into their queues, with all attempts before them."""
    from picloud.cli.screen import print_json

    if bool(ids) == everything:
        raise click.UsageError("give the ids of dead letters, or --all")
    if wanted and not everything:
        raise click.UsageError("--queue, --script, --error, --reason, --since and --until go with --all")
    how: dict[str, Any] = {} if to_queue is None else {"to_queue": to_queue}
    with node.connect() as client:
        if everything:
            replayed = list(_replay_all(client, app, {**wanted, **how}, rate))
        else:
            replayed = [_replay(client, app, letter_id, how, rate, at) for at, letter_id in enumerate(ids)]
    if as_json:
        print_json({"items": replayed, "replayed": len(replayed)})
    else:
        click.echo(f"replayed {show_count(len(replayed), 'dead letter')}")


@dead_group.command("discard", short_help="Resolve dead letters: nothing is to be done about them.")
@click.argument("app")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--note", help="Why.")
@node_options
@json_option
def discard_command(app: str, ids: tuple[str, ...], note: str | None, node: NodeAddress, as_json: bool) -> None:
    """Resolve dead letters of APP without replaying them; who did it and why is kept with them for a while."""
    body = {"resolution": "discarded"} if note is None else {"resolution": "discarded", "note": note}
    _each(node, app, ids, lambda client, where: client.patch(where, body), "discarded", as_json)


@dead_group.command("reopen", short_help="Take a discard back.")
@click.argument("app")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@node_options
@json_option
def reopen_command(app: str, ids: tuple[str, ...], node: NodeAddress, as_json: bool) -> None:
    """Open discarded dead letters of APP again."""
    _each(node, app, ids, lambda client, where: client.patch(where, {"resolution": None}), "reopened", as_json)


@dead_group.command("delete", short_help="Delete dead letters for good.")
@click.argument("app")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@node_options
@json_option
def delete_command(app: str, ids: tuple[str, ...], node: NodeAddress, as_json: bool) -> None:
    """Delete dead letters of APP for good."""
    _each(node, app, ids, lambda client, where: client.delete(where), "deleted", as_json)


def _each(
    node: NodeAddress, app: str, ids: Sequence[str], act: Callable[[Client, str], object], done: str, as_json: bool
) -> None:
    from picloud.cli.client import path
    from picloud.cli.screen import print_json

    with node.connect() as client:
        for letter_id in ids:
            act(client, path("apps", app, "dead_letters", letter_id))
    if as_json:
        print_json({done: len(ids)})
    else:
        click.echo(f"{done} {show_count(len(ids), 'dead letter')}")


def print_letter(console: Console, letter: Mapping[str, Any]) -> None:
    """Print one dead letter for people."""
    import json

    from rich.text import Text

    for label, value in _facts(letter):
        console.print(Text.assemble((f"{label:<10}", "dim"), value), soft_wrap=True)
    if letter["error"] is not None:
        console.print()
        for line in error_lines(letter["error"]):
            console.print(line, soft_wrap=True)
    console.print(Text("\npayload", style="dim"))
    payload = json.dumps(letter["event"].get("payload"), ensure_ascii=False, indent=2)
    console.print(Text(payload), soft_wrap=True)


def _list_letters(client: Client, app: str, query: Mapping[str, str | None], limit: int) -> Iterator[dict[str, Any]]:
    from itertools import islice

    from picloud.cli.client import path

    for letter in islice(client.items(path("apps", app, "dead_letters"), **query), limit):
        yield {"app": app, **letter}


def _replay(
    client: Client, app: str, letter_id: str, how: Mapping[str, Any], rate: float | None, at: int
) -> dict[str, Any]:
    from picloud.cli.client import path

    delay = {"delay": at / rate} if rate is not None and at else {}
    replayed: dict[str, Any] = client.post(path("apps", app, "dead_letters", letter_id, "replay"), {**how, **delay})
    return replayed


def _replay_all(client: Client, app: str, body: Mapping[str, Any], rate: float | None) -> Iterator[dict[str, Any]]:
    from picloud.cli.client import path

    done, as_of = 0, None
    while True:
        more: dict[str, Any] = {"limit": REPLAY_BATCH}
        if rate is not None:
            more |= {"per_second": rate, "delay": done / rate}
        if as_of is not None and "died_before" not in body:
            # what dies again meanwhile is left for the next call, or this one might never end
            more["died_before"] = as_of
        answer = client.post(path("apps", app, "dead_letters", "replay"), {**body, **more})
        as_of = as_of or answer["as_of"]
        done += len(answer["items"])
        yield from answer["items"]
        if len(answer["items"]) < REPLAY_BATCH:
            return


def _read_moment(option: str, text: str | None) -> str | None:
    """Return a time as the API takes it; a duration is so long ago."""
    if text is None:
        return None
    try:
        ago = parse_duration(text.removesuffix("ago").strip(), what=option)
        return (datetime.now(UTC) - timedelta(seconds=ago)).isoformat()
    except InvalidInput:
        try:
            return datetime.fromisoformat(text).astimezone().isoformat()
        except ValueError:
            raise click.BadParameter(
                f"{text!r} is neither a duration such as 2h nor a time such as 2026-12-01T08:30:00Z",
                param_hint=option,
            ) from None


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
        who = f" by {letter['resolved_by']}" if letter["resolved_by"] else ""
        yield "resolved", f"{letter['resolution']} {show_age(letter['resolved_at'])} ago{who}{to}"
    if letter["resolution_note"]:
        yield "note", letter["resolution_note"]


def error_lines(error: Mapping[str, Any]) -> Iterator[Text]:
    """Yield an error and the way to it through the scripts."""
    from rich.text import Text

    yield Text.assemble((f"{error['type']}: ", "bold red"), (str(error["message"]), "red"))
    for frame in error.get("stack") or ():
        place = f"  {frame['script']}, line {frame['line']}, in {frame['function']}"
        yield Text.assemble((place, "dim"), f"\n    {frame['source']}" if frame.get("source") else "")
