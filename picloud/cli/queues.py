"""`picloud queues`: what is in the queues."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.groups import ListByDefault
from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.table import Column, print_table
from picloud.cli.wording import show_seconds
from picloud.durations import parse_duration
from picloud.errors import InvalidInput

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


@click.group("queues", cls=ListByDefault, short_help="Show what is in the queues; pause, resume or purge one.")
def queues_group() -> None:
    """Look at queues and operate them. `picloud queues APP` lists them.

    \b
    picloud queues shop                        what is in them
    picloud queues pause shop orders           no node claims from it; sending goes on
    picloud queues resume shop orders
    picloud queues set shop orders --max-in-flight 10 --rate none --retention 1d
    picloud queues purge shop orders --state ready
    """


@queues_group.command("list", short_help="Show what is in the queues (the default).")
@click.argument("app", required=False)
@node_options
@json_option
def list_command(app: str | None, node: NodeAddress, as_json: bool) -> None:
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


@queues_group.command("pause", short_help="Have no node claim from a queue.")
@click.argument("app")
@click.argument("queue")
@node_options
def pause_command(app: str, queue: str, node: NodeAddress) -> None:
    """Have no node claim from QUEUE of APP; what runs is finished, and sending goes on."""
    _operate(node, app, queue, "pause")
    click.echo(f"paused {queue} of {app}: `picloud queues resume {app} {queue}` ends it")


@queues_group.command("resume", short_help="End a pause.")
@click.argument("app")
@click.argument("queue")
@node_options
def resume_command(app: str, queue: str, node: NodeAddress) -> None:
    """End the pause of QUEUE of APP."""
    _operate(node, app, queue, "resume")
    click.echo(f"resumed {queue} of {app}")


@queues_group.command("set", short_help="Set order, limits, default attempts or retention of a queue.")
@click.argument("app")
@click.argument("queue")
@click.option("--fifo/--no-fifo", default=None, help="One message at a time, in the order they were sent.")
@click.option("--max-in-flight", metavar="N|none", help="The most that may be claimed at once, on all nodes together.")
@click.option("--rate", metavar="N|none", help="Messages a second, on all nodes together.")
@click.option("--max-attempts", metavar="N|none", help="Of messages sent without; wins over the trigger's setting.")
@click.option("--retention", metavar="TIME|none", help="Due for longer, a message is a dead letter: expired.")
@click.option("--dead-retention", metavar="TIME|none", help="Dead letters are deleted after this, resolved or not.")
@node_options
@json_option
def set_command(app: str, queue: str, node: NodeAddress, as_json: bool, **given: Any) -> None:
    """Set what holds for QUEUE of APP on all nodes together; what is not given stays, `none` takes a limit away."""
    from picloud.cli.client import path
    from picloud.cli.screen import print_json

    rules: dict[str, Any] = {} if given["fifo"] is None else {"fifo": given["fifo"]}
    for option, (key, _, read) in _LIMITS.items():
        text = given[option.removeprefix("--").replace("-", "_")]
        if text is not None:
            rules[key] = _read_limit(option, text, read)
    if not rules:
        raise click.UsageError(f"say what to set: --fifo, --no-fifo, {', '.join(_LIMITS)}")
    with node.connect() as client:
        changed = client.patch(path("apps", app, "queues", queue), rules)
    if as_json:
        print_json(changed)
        return
    shown = ["fifo" if changed["fifo"] else "any order"]
    shown += [
        f"{name} {show_seconds(changed[key]) if read is _read_seconds else format(changed[key], 'g')}"
        for key, name, read in _LIMITS.values()
        if changed.get(key) is not None
    ]
    click.echo(f"{queue} of {app}: {', '.join(shown)}")


def _read_seconds(text: str) -> int:
    return math.ceil(parse_duration(text))


_LIMITS: dict[str, tuple[str, str, Callable[[str], int | float]]] = {
    "--max-in-flight": ("max_in_flight", "at most in flight", int),
    "--rate": ("rate_per_second", "a second", float),
    "--max-attempts": ("default_max_attempts", "attempts", int),
    "--retention": ("message_retention_secs", "messages kept", _read_seconds),
    "--dead-retention": ("dead_retention_secs", "dead letters kept", _read_seconds),
}
"""By option: the API's name, how it is shown, and how it is read."""


def _read_limit(option: str, text: str, read: Callable[[str], int | float]) -> int | float | None:
    if text == "none":
        return None
    try:
        return read(text)
    except (ValueError, InvalidInput):
        what = "a time such as 12h" if read is _read_seconds else "a number"
        raise click.BadParameter(f"{text!r} is neither {what} nor 'none'", param_hint=option) from None


@queues_group.command("purge", short_help="Drop messages or dead letters of a queue for good.")
@click.argument("app")
@click.argument("queue")
@click.option("--state", type=click.Choice(["ready", "delayed", "all", "dead"]), required=True, help="Which to drop.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@node_options
@json_option
def purge_command(app: str, queue: str, state: str, yes: bool, node: NodeAddress, as_json: bool) -> None:
    """Drop messages of QUEUE of APP that nobody handles, or its dead letters, for good."""
    from picloud.cli.screen import print_json

    what = "dead letters" if state == "dead" else "messages" if state == "all" else f"{state} messages"
    if not yes:
        typed = click.prompt(f"this drops all {what} of {queue}; type the queue's name to go on", err=True)
        if typed != queue:
            raise click.UsageError("that is not the queue's name: nothing was dropped")
    purged = _operate(node, app, queue, "purge", {"state": state})["purged"]
    if as_json:
        print_json({"purged": purged})
    else:
        click.echo(f"dropped {purged} {what} of {queue}")


def _operate(node: NodeAddress, app: str, queue: str, what: str, body: Mapping[str, Any] | None = None) -> Any:
    from picloud.cli.client import path

    with node.connect() as client:
        return client.post(path("apps", app, "queues", queue, what), body or {})


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
        "name": queue["name"] + (" (paused)" if queue.get("paused_at") else ""),
        **counts,
        "oldest": show_seconds(queue["oldest_ready_age_secs"]),
        "consumer": script,
    }
