"""Tables that fit: on a narrow terminal long texts are cut and spare columns left out; elsewhere all is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

GAP = "  "

Rows = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `key` names its text in a row."""

    title: str
    key: str
    right: bool = False
    style: str = ""
    spare: int = 0
    """Columns with a higher number are left out first; 0: never."""
    least: int | None = None
    """The text may be cut to this many characters; None: never cut."""


def print_table(console: Console, columns: Sequence[Column], rows: Rows) -> None:
    """Print a header and the rows."""
    widths = {column.key: _full_width(column, rows) for column in columns}
    if console.is_terminal:
        columns = _fitting(columns, widths, console.width)
        widths = _shrink(columns, widths, console.width)
    titles = {column.key: column.title for column in columns}
    console.print(_line(columns, widths, titles, header=True), soft_wrap=True)
    for row in rows:
        console.print(_line(columns, widths, row), soft_wrap=True)


def _line(
    columns: Sequence[Column], widths: Mapping[str, int], row: Mapping[str, str], *, header: bool = False
) -> Text:
    from rich.text import Text

    cells = []
    for column in columns:
        # a zero is not worth looking at
        style = "bold dim" if header else "dim" if row[column.key] in {"0", "-"} else column.style
        cell = Text(row[column.key], style)
        cell.truncate(widths[column.key], overflow="ellipsis")
        cell.align("right" if column.right else "left", widths[column.key])
        cells.append(cell)
    line = Text(GAP).join(cells)
    line.rstrip()
    return line


def _full_width(column: Column, rows: Rows) -> int:
    from rich.cells import cell_len

    return max([len(column.title), *(cell_len(row[column.key]) for row in rows)])


def _fitting(columns: Sequence[Column], widths: Mapping[str, int], width: int) -> list[Column]:
    """Return the columns that fit into `width` when all is cut that may be."""
    kept = list(columns)
    while _total([_least(column, widths) for column in kept]) > width:
        spare = max(kept, key=lambda column: column.spare)
        if spare.spare == 0:
            break
        kept.remove(spare)
    return kept


def _shrink(columns: Sequence[Column], widths: Mapping[str, int], width: int) -> dict[str, int]:
    """Return widths that fit: the columns that may be cut share what the others leave, the short ones first."""
    fixed = {column.key: widths[column.key] for column in columns if column.least is None}
    flexible = sorted((column for column in columns if column.least is not None), key=lambda column: widths[column.key])
    left = width - _total(list(fixed.values())) - len(GAP) * len(flexible)
    shrunk = dict(fixed)
    for at, column in enumerate(flexible):
        share = max(1, left // (len(flexible) - at))
        shrunk[column.key] = min(widths[column.key], share)
        left -= shrunk[column.key]
    return shrunk


def _least(column: Column, widths: Mapping[str, int]) -> int:
    full = widths[column.key]
    return full if column.least is None else min(full, max(column.least, len(column.title)))


def _total(widths: list[int]) -> int:
    return sum(widths) + len(GAP) * max(0, len(widths) - 1)
