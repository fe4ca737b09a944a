"""`picloud logs`: what the handlers of an app logged, and how they failed; one execution whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.wording import first_line, show_age, show_seconds, show_value

if TYPE_CHECKING:
    from rich.text import Text

    from picloud.cli.client import Client

STATUSES = ("ok", "failed", "error", "timeout", "memory", "cancelled", "lease_lost")
LEVELS = ("debug", "info", "warning", "error")
LEVEL_STYLES = {"debug": "dim", "info": "", "warning": "yellow", "error": "red"}
STATUS_STYLES = {"ok": "green", "cancelled": "yellow", "lease_lost": "yellow"}
POLL_SECS = 0.5
PAGE = 500


@click.command("logs", short_help="Show what an app's handlers logged, and how they failed.")
@click.argument("app")
@click.option("-f", "--follow", is_flag=True, help="Go on showing what comes until Ctrl-C.")
@click.option("--execution", metavar="ID", help="One execution: how it ended, its error, all its lines.")
@click.option("--status", type=click.Choice(STATUSES), help="Only of executions that ended so; failed: all but ok.")
@click.option("--script", help="Only of one script.")
@click.option("--level", type=click.Choice(LEVELS), default="debug", show_default=True, help="The least.")
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="Most lines from before.")
@node_options
@json_option
def logs_command(
    app: str,
    follow: bool,
    execution: str | None,
    status: str | None,
    script: str | None,
    level: str,
    limit: int,
    node: NodeAddress,
    as_json: bool,
) -> None:
    """Show the log of APP: the last lines, the newest at the end.

    With --json and --follow: one JSON object per line.
    """
    if execution is not None and (follow or status or script):
        raise click.UsageError("--execution shows one execution: it goes with none of --follow, --status and --script")
    with node.connect() as client:
        if execution is not None:
            _show_execution(client, app, execution, as_json)
            return
        query = {"status": status, "script": script, "level": level}
        lines, cursor = _read_last(client, app, limit, query)
        if follow:
            _follow(client, app, lines, cursor, query, as_json)
        elif as_json:
            from picloud.cli.screen import print_json

            print_json({"items": lines})
        elif lines:
            LogPrinter().print(lines)
        else:
            click.echo("nothing logged")


class LogPrinter:
    """Prints log lines, with a heading wherever another execution begins to speak."""

    def __init__(self) -> None:
        from picloud.cli.screen import stdout

        self._console = stdout()
        self._last: str | None = None

    def print(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Print lines, the oldest first."""
        from rich.text import Text

        for line in lines:
            if line["execution_id"] != self._last:
                self._last = line["execution_id"]
                head = Text.assemble((f"── {line['script']}", "bold"), (f"  {self._last}", "dim"))
                self._console.print(head, soft_wrap=True)
            self._console.print(line_text(line), soft_wrap=True)


def line_text(line: Mapping[str, Any]) -> Text:
    """Return one line of a log as people read it."""
    from datetime import datetime

    from rich.text import Text

    at = datetime.fromisoformat(line["at"]).astimezone().strftime("%H:%M:%S.%f")[:-3]
    if line.get("status"):
        told = Text.assemble((f"{at} ", "dim"), (f"{line['status'].replace('_', ' ')}  ", "bold red"))
        return told.append(error_line(line["error"]), "red")
    style = LEVEL_STYLES[line["level"]]
    told = Text.assemble((f"{at} ", "dim"), (f"{line['level']:<8}", style), (line["message"], style))
    for name, value in (line["fields"] or {}).items():
        told.append(f"  {name}=", "dim").append(first_line(show_value(value)))
    return told


def error_line(error: Mapping[str, Any] | None) -> str:
    """Return an error in one line, with its place."""
    if error is None:
        return ""
    place = f" (line {error['line']})" if error.get("line") else ""
    return first_line(f"{error['type']}: {error['message']}") + place


def _read_last(client: Client, app: str, limit: int, query: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Return the last lines, the oldest first, and from where to follow."""
    from picloud.cli.client import path

    place = path("apps", app, "logs")
    page = client.get(place, limit=min(max(limit, 1), PAGE), **query)
    follow_cursor = str(page["follow_cursor"])
    lines = list(page["items"])
    while page["next_cursor"] and len(lines) < limit:
        page = client.get(place, limit=min(limit - len(lines), PAGE), cursor=page["next_cursor"], **query)
        lines += page["items"]
    return lines[:limit][::-1], follow_cursor


def _follow(
    client: Client,
    app: str,
    lines: Sequence[dict[str, Any]],
    cursor: str,
    query: Mapping[str, Any],
    as_json: bool,
) -> None:
    import json
    from time import sleep

    from picloud.cli.client import path
    from picloud.errors import NodeUnreachable

    printer = LogPrinter()
    place, is_away = path("apps", app, "logs"), False
    while True:
        if as_json:
            for line in lines:
                click.echo(json.dumps(line, ensure_ascii=False))
        else:
            printer.print(lines)
        if len(lines) < PAGE:
            sleep(POLL_SECS)
        try:
            page = client.get(place, after=cursor, limit=PAGE, **query)
        except NodeUnreachable as error:
            # a node that is started again goes on where this one was
            if not is_away:
                click.echo(f"{first_line(str(error))}; trying again", err=True)
            lines, is_away = [], True
            continue
        lines, cursor, is_away = page["items"], page["follow_cursor"], False


def _show_execution(client: Client, app: str, execution_id: str, as_json: bool) -> None:
    from rich.text import Text

    from picloud.cli.client import path
    from picloud.cli.dead import error_lines
    from picloud.cli.screen import print_json, stdout

    execution = client.get(path("apps", app, "executions", execution_id))
    if as_json:
        print_json(execution)
        return
    console = stdout()
    for label, value in _facts(execution):
        console.print(Text.assemble((f"{label:<10}", "dim"), value), soft_wrap=True)
    if execution["error"] is not None:
        console.print()
        for told in error_lines(execution["error"]):
            console.print(told, soft_wrap=True)
    if execution["logs"]:
        console.print()
    for line in execution["logs"]:
        console.print(line_text(line), soft_wrap=True)


def _facts(execution: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "id", execution["id"]
    yield "script", f"{execution['script']}, version {execution['version']}"
    yield "status", execution["status"].replace("_", " ")
    yield "started", f"{execution['started_at']} ({show_age(execution['started_at'])} ago)"
    yield "took", f"{show_seconds(execution['duration_secs'])}, {show_seconds(execution['cpu_secs'])} of CPU"
    yield "source", cause_text(execution)
    for label, name in (("message", "message_id"), ("request", "request_id"), ("parent", "parent_execution_id")):
        if execution[name]:
            yield label, execution[name]
    if execution["root_execution_id"] != execution["id"]:
        yield "root", execution["root_execution_id"]


def cause_text(execution: Mapping[str, Any]) -> str:
    """Return what an execution was for: "queue orders, attempt 2"."""
    queue = f" {execution['queue_name']}" if execution["queue_name"] else ""
    attempt = f", attempt {execution['attempt']}" if execution["attempt"] > 1 else ""
    return f"{execution['source'].replace('_', ' ')}{queue}{attempt}"
