"""`picloud trace`: what one execution caused, as a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.logs import STATUS_STYLES, cause_text, error_line
from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.wording import show_count, show_seconds

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

MAX_SHOWN_DEPTH = 60
"""Deeper ones are printed at this depth: a chain of messages may be as long as it likes."""


@click.command("trace", short_help="Show what an execution caused, across queues and invokes.")
@click.argument("app")
@click.argument("execution_id", metavar="ID")
@node_options
@json_option
def trace_command(app: str, execution_id: str, node: NodeAddress, as_json: bool) -> None:
    """Show the tree of executions that the root of execution ID caused, in APP."""
    from picloud.cli.client import path
    from picloud.cli.screen import print_json, stdout

    with node.connect() as client:
        trace = client.get(path("apps", app, "executions", execution_id, "trace"))
    if as_json:
        print_json(trace)
        return
    stdout().print(render_trace(trace, execution_id))
    if trace["truncated"]:
        click.echo(f"only the first {show_count(len(trace['items']), 'execution')} are shown")


def render_trace(trace: Mapping[str, Any], asked: str) -> Tree:
    """Return the tree to print: each execution one line, and a second one with its error."""
    from rich.text import Text
    from rich.tree import Tree

    items: Sequence[Mapping[str, Any]] = trace["items"]
    top = Tree(Text(f"root {trace['root_execution_id']}", "dim"), guide_style="dim")
    start = min((datetime.fromisoformat(item["started_at"]) for item in items), default=None)
    branches = [top]
    for item in items:
        depth = min(item["depth"], MAX_SHOWN_DEPTH, len(branches) - 1)
        branch = branches[depth].add(_label(item, start, asked))
        branches[depth + 1 :] = [branch]
    return top


def _label(item: Mapping[str, Any], start: datetime | None, asked: str) -> Text:
    from rich.text import Text

    style = STATUS_STYLES.get(item["status"], "bold red")
    label = Text.assemble(("● ", style), (item["script"], "bold reverse" if item["id"] == asked else "bold"))
    label.append(f"  {cause_text(item)}", "cyan")
    if item["status"] != "ok":
        label.append(f"  {item['status'].replace('_', ' ')}", style)
    if start is not None:
        after = (datetime.fromisoformat(item["started_at"]) - start).total_seconds()
        label.append(f"  +{show_seconds(after)}, took {show_seconds(item['duration_secs'])}")
    label.append(f"  {item['id']}", "dim")
    if item["error"] is not None:
        label.append(f"\n  {error_line(item['error'])}", "red")
    return label
