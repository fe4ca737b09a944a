"""A deployment's diff on screen: `+ ~ -`, as `picloud deploy` and `picloud up` show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from picloud.cli.wording import show_count, show_value

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_SIGNS = {"create": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}


def print_diff(console: Console, diff: Mapping[str, Any], *, indent: str = "") -> None:
    """Print what changed, a line each; `diff` is in the form of the HTTP API."""
    for line in _lines(diff, indent):
        console.print(line, soft_wrap=True)


def summarise(diff: Mapping[str, Any]) -> str:
    """Return the diff in one line: "3 created, 1 updated, 4 unchanged", or "nothing to change"."""
    entries = [entry for entry in diff["entries"] if entry["kind"] != "app" or entry["action"] != "unchanged"]
    counts = {
        word: sum(entry["action"] == action for entry in entries)
        for action, word in (("create", "created"), ("update", "updated"), ("delete", "deleted"))
    }
    if not any(counts.values()):
        parts = [
            show_count(count, kind)
            for kind in ("script", "trigger")
            if (count := sum(entry["kind"] == kind for entry in entries))
        ]
        return f"nothing to change ({', '.join(parts) or 'no scripts'})"
    unchanged = len(entries) - sum(counts.values())
    words = [f"{count} {word}" for word, count in {**counts, "unchanged": unchanged}.items() if count]
    return ", ".join(words)


def _lines(diff: Mapping[str, Any], indent: str) -> Iterator[Text]:
    from rich.text import Text

    shown = [entry for entry in diff["entries"] if entry["action"] in _SIGNS]
    width = max((len(entry["name"]) for entry in shown), default=0)
    for entry in shown:
        sign, colour = _SIGNS[entry["action"]]
        changes = ", ".join(_change(change) for change in entry["changes"])
        line = f"{entry['kind']:<8}{entry['name']:<{width}}  {changes}".rstrip()
        yield Text.assemble(indent, (f"{sign} ", f"bold {colour}"), (line, colour))


def _change(change: Mapping[str, Any]) -> str:
    if change["old"] is None:
        return f"{change['field']} {show_value(change['new'])}"
    return f"{change['field']} {show_value(change['old'])} → {show_value(change['new'])}"
