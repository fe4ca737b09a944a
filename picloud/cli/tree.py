"""`picloud tree`: the supervision tree of a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.wording import first_line, show_count, show_seconds, show_value

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    from picloud.cli.client import Client

_STATUS_STYLES = {
    "running": "green",
    "starting": "cyan",
    "backing_off": "bold yellow",
    "parked": "bold red",
    "stopping": "magenta",
    "stopped": "dim",
}
MAX_DETAIL = 40
"""Characters of one figure of an actor."""


@click.command("tree", short_help="Show the supervision tree; live with --watch.")
@click.option("--path", help="Only what is below this actor: /picloud/consumers.")
@click.option("--depth", type=click.IntRange(0), help="Levels below it. Default: all.")
@click.option("--watch", is_flag=True, help="Go on showing it until Ctrl-C.")
@click.option("--interval", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, help="Seconds, --watch.")
@node_options
@json_option
def tree_command(
    path: str | None, depth: int | None, watch: bool, interval: float, node: NodeAddress, as_json: bool
) -> None:
    """Show the actors of a node: what runs, since when, how often it was restarted, and why."""
    from picloud.cli.screen import print_json, stdout

    with node.connect() as client:
        if watch:
            _watch(client, path, depth, interval, as_json)
            return
        snapshot = _fetch(client, path, depth)
    if as_json:
        print_json(snapshot)
    else:
        stdout().print(render_tree(snapshot))


def render_tree(root: Mapping[str, Any]) -> Tree:
    """Return the tree to print; every actor is one line, and a second one where something is wrong."""
    from rich.tree import Tree

    tree = Tree(_label(root), guide_style="dim")
    # a list instead of recursion: the order is kept, and depth costs no stack
    todo = [(tree, child) for child in reversed(root.get("children") or ())]
    while todo:
        parent, actor = todo.pop()
        branch = parent.add(_label(actor))
        todo.extend((branch, child) for child in reversed(actor.get("children") or ()))
    return tree


def _fetch(client: Client, path: str | None, depth: int | None) -> dict[str, Any]:
    snapshot: dict[str, Any] = client.get("/supervisor", path=path, depth=depth)
    return snapshot


def _watch(client: Client, path: str | None, depth: int | None, interval: float, as_json: bool) -> None:
    from picloud.cli.screen import stdout

    console = stdout()
    _fetch(client, path, depth)  # a wrong path or token ends the command, later errors are shown and outlived
    if console.is_terminal and not as_json:
        _watch_live(console, client, path, depth, interval)
    else:
        _watch_plain(console, client, path, depth, interval, as_json)


def _watch_live(console: Console, client: Client, path: str | None, depth: int | None, interval: float) -> None:
    from time import sleep

    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from picloud.errors import PicloudError

    tree: Tree | Text = Text("")
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            try:
                tree, note = render_tree(_fetch(client, path, depth)), Text("Ctrl-C ends it", style="dim")
            except PicloudError as error:
                note = Text(first_line(str(error)), style="bold red")
            live.update(Group(note, tree), refresh=True)
            sleep(interval)


def _watch_plain(
    console: Console, client: Client, path: str | None, depth: int | None, interval: float, as_json: bool
) -> None:
    """Print one tree after the other: a line of JSON each, or the text and an empty line."""
    import json
    from time import sleep

    while True:
        snapshot = _fetch(client, path, depth)
        if as_json:
            click.echo(json.dumps(snapshot, ensure_ascii=False))
        else:
            console.print(render_tree(snapshot))
            console.print()
        sleep(interval)


def _label(actor: Mapping[str, Any]) -> Text:
    from rich.text import Text

    status = str(actor["status"])
    name = Text.assemble(
        ("● ", _dot_style(actor)),
        (str(actor["id"]), "bold" if actor["type"] == "supervisor" else ""),
        no_wrap=True,
        overflow="ellipsis",
    )
    if status != "running":
        name.append(f"  {status.replace('_', ' ')}", _STATUS_STYLES.get(status, ""))
    for text, style in _remarks(actor):
        name.append(f"  {text}", style)
    trouble = _trouble(actor)
    return name.append(f"\n  {trouble}", _dot_style(actor)) if trouble else name


def _dot_style(actor: Mapping[str, Any]) -> str:
    if _is_degraded(actor):
        return "bold yellow"
    return _STATUS_STYLES.get(str(actor["status"]), "")


def _is_degraded(actor: Mapping[str, Any]) -> bool:
    return (actor.get("health") or {}).get("state") == "degraded"


def _remarks(actor: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if _is_degraded(actor):
        yield "degraded", "bold yellow"
    if actor.get("restart_count"):
        yield show_count(actor["restart_count"], "restart"), "yellow"
    if actor.get("strategy"):
        yield str(actor["strategy"]), "dim"
    if actor.get("counts") and actor.get("children") is None:
        yield show_count(actor["counts"]["specs"], "actor"), "dim"
    if actor.get("uptime_secs") is not None:
        yield f"up {show_seconds(actor['uptime_secs'])}", "dim"
    for name, value in (actor.get("details") or {}).items():
        if shown := _detail(value):
            yield f"{name} {shown}", "cyan dim"


def _detail(value: Any) -> str:
    """Return an actor's figure; nothing for what is not there, or too long for a line."""
    if value is None or value == {} or value == []:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    text = first_line(show_value(value))
    return text if len(text) <= MAX_DETAIL else text[: MAX_DETAIL - 1] + "…"


def _trouble(actor: Mapping[str, Any]) -> str:
    """Return why an actor is not well: what its health says, or how it ended last."""
    if _is_degraded(actor):
        return first_line(str(actor["health"].get("error") or ""))
    ended = actor.get("last_exit") or {}
    if actor["status"] in {"backing_off", "parked"} and ended.get("reason") == "error":
        return first_line(f"{ended.get('error_type')}: {ended.get('message')}")
    return ""
