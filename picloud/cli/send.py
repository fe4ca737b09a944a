"""`picloud send`: one message, or a file of them."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from picloud.cli.calling import show_command
from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.wording import show_count
from picloud.errors import InvalidInput

if TYPE_CHECKING:
    from picloud.cli.client import Client
    from picloud.cli.stream import Progress, Sent


@click.command("send", short_help="Send messages to a queue.")
@click.argument("app")
@click.argument("queue")
@click.argument("data", metavar="JSON|@FILE.jsonl|-")
@click.option("--delay", help="Deliver after this time: 30, 90s, 5m, 1h30m.")
@click.option("--priority", type=click.IntRange(0, 9), help="0 to 9; higher goes first. Default: 0.")
@click.option("--max-attempts", type=click.IntRange(1, 100), help="Default: as the queue's trigger says.")
@click.option("--dedup-key", help="Send it only if no message with this key waits in the queue.")
@node_options
@json_option
def send_command(
    app: str,
    queue: str,
    data: str,
    delay: str | None,
    priority: int | None,
    max_attempts: int | None,
    dedup_key: str | None,
    node: NodeAddress,
    as_json: bool,
) -> None:
    """Send one message, or every line of a file (@FILE.jsonl) or of standard input (-) as a message each.

    \b
    picloud send shop orders '{"sku": "A-1", "count": 2}'
    picloud send shop orders @orders.jsonl --delay 5m
    """
    from picloud.durations import parse_duration

    options = {
        "delay": None if delay is None else parse_duration(delay, what="--delay"),
        "priority": priority,
        "max_attempts": max_attempts,
        "dedup_key": dedup_key,
    }
    given = {name: value for name, value in options.items() if value is not None}
    is_stream = data == "-" or data.startswith("@")
    if is_stream and dedup_key is not None:
        raise click.UsageError("--dedup-key is for one message: a file would be sent as its first line only")
    with node.connect() as client:
        if is_stream:
            options_again = [
                word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", f"{value}")
            ]
            again = ["send", app, queue, "-", *options_again, *node.words()]
            _send_stream(client, app, queue, data, given, again, as_json)
        else:
            _send_one(client, app, queue, data, given, as_json)


def _send_one(client: Client, app: str, queue: str, data: str, options: dict[str, Any], as_json: bool) -> None:
    from picloud.cli.client import path
    from picloud.cli.screen import print_json
    from picloud.cli.stream import check_payload, message_json

    try:
        payload = check_payload(data)
    except InvalidInput as error:
        hint = " (a file is @FILE; text needs its quotes: '\"hello\"')" if "not JSON" in str(error) else ""
        raise InvalidInput(f"{str(error).removeprefix('queue: ')}{hint}") from error
    body = message_json(payload, _options_json(options)).encode()
    answer = client.post(path("apps", app, "queues", queue, "messages"), body)
    if as_json:
        print_json(answer)
    elif answer["is_new"]:
        click.echo(f"sent {answer['id']}")
    else:
        click.echo(f"not sent: message {answer['id']} has that dedup key already")


def _send_stream(
    client: Client, app: str, queue: str, data: str, options: dict[str, Any], again: list[str], as_json: bool
) -> None:
    from picloud.cli.client import path
    from picloud.cli.screen import print_json
    from picloud.cli.stream import send_lines

    post = partial(client.post, path("apps", app, "queues", queue, "messages"))
    began = time.monotonic()
    with _open(data) as file, _progress(_size(file), quiet=as_json) as progress:
        sent = send_lines(file, _options_json(options), post, progress, partial(_resume, data, again))
    seconds = time.monotonic() - began
    if as_json:
        print_json({"app": app, "queue": queue, "sent": sent.messages, "duplicates": sent.duplicates})
    else:
        rate = f"{sent.messages / seconds:,.0f}/s" if seconds > 0 else "at once"
        click.echo(f"sent {show_count(sent.messages, 'message')} to {app}/{queue} in {seconds:.2f} s ({rate})")


def _options_json(options: dict[str, Any]) -> str:
    return "".join(f",{json.dumps(name)}:{json.dumps(value)}" for name, value in options.items())


@contextmanager
def _open(data: str) -> Iterator[IO[bytes]]:
    if data == "-":
        yield sys.stdin.buffer
        return
    try:
        file = open(data[1:], "rb")  # noqa: SIM115 - only the opening is in the try
    except OSError as error:
        raise InvalidInput(f"{data[1:] or '@'}: {error.strerror}") from error
    with file:
        yield file


def _size(file: IO[bytes]) -> int | None:
    try:
        return os.fstat(file.fileno()).st_size or None
    except (OSError, ValueError):
        return None


@contextmanager
def _progress(total_bytes: int | None, *, quiet: bool) -> Iterator[Progress]:
    """Show a progress bar on stderr where somebody looks at it."""
    from picloud.cli.screen import stderr

    console = stderr()
    if quiet or not console.is_terminal:
        yield lambda sent, bytes_read: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = BarColumn(bar_width=None)
    columns = (
        TextColumn("sending"),
        bar,
        TextColumn("{task.fields[sent]:,} messages"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("send", total=total_bytes, sent=0)

        def show(sent: Sent, bytes_read: int) -> None:
            progress.update(task, completed=bytes_read, sent=sent.messages)

        yield show


def _resume(data: str, words: list[str], line: int) -> str:
    """Return the command that sends what follows from a line on, with the same options."""
    source = shlex.quote(data[1:]) if data != "-" else "THE_SAME_INPUT"
    return f"tail -n +{line} {source} | {show_command(words)}"
