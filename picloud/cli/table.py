"""Tables: with colour on a terminal, narrower columns first to go; aligned text elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `key` names the row's value; `spare` ones go first, highest number before the others."""

    title: str
    key: str
    right: bool = False
    style: str = ""
    spare: int = 0
    flexible: bool = False
    """May be cut to fit."""


def print_table(console: Console, columns: Sequence[Column], rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows of texts."""
    if console.is_terminal:
        _print_rich(console, _fitting(columns, rows, console.width), rows)
    else:
        for line in _plain_lines(columns, rows):
            console.print(line, markup=False, soft_wrap=True)


def _plain_lines(columns: Sequence[Column], rows: Sequence[Mapping[str, str]]) -> list[str]:
    widths = [_width(column, rows) for column in columns]
    lines = [[column.title for column in columns], *([row[column.key] for column in columns] for row in rows)]
    return [
        "  ".join(
            text.rjust(width) if column.right else text.ljust(width)
            for text, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    ]


def _fitting(columns: Sequence[Column], rows: Sequence[Mapping[str, str]], width: int) -> list[Column]:
    """Return the columns that fit into `width`, without the spare ones that do not."""
    kept = list(columns)
    while sum(_least(column, rows) + GAP for column in kept) > width + GAP:
        spare = max(kept, key=lambda column: column.spare)
        if not spare.spare:
            break
        kept.remove(spare)
    return kept


def _least(column: Column, rows: Sequence[Mapping[str, str]]) -> int:
    full = _width(column, rows)
    return min(full, max(len(column.title), 12)) if column.flexible else full


def _width(column: Column, rows: Sequence[Mapping[str, str]]) -> int:
    return max([len(column.title), *(len(row[column.key]) for row in rows)])


def _print_rich(console: Console, columns: Sequence[Column], rows: Sequence[Mapping[str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold dim")
    options: dict[str, Any] = {"no_wrap": True, "overflow": "ellipsis"}
    for column in columns:
        table.add_column(column.title, justify="right" if column.right else "left", **options)
    for row in rows:
        table.add_row(*(Text(row[column.key], style=_style(column, row[column.key])) for column in columns))
    console.print(table)


def _style(column: Column, text: str) -> str:
    # a zero is not worth looking at
    return "dim" if text in {"0", "-"} else column.style
