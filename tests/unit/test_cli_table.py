"""picloud.cli.table and picloud.cli.wording: what people read."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from cli_probes import shown, terminal

from picloud.cli.table import Column, print_table
from picloud.cli.wording import first_line, show_age, show_count, show_seconds

COLUMNS = (
    Column("NAME", "name", least=8),
    Column("READY", "ready", right=True),
    Column("DELAYED", "delayed", right=True, spare=1),
    Column("NOTE", "note", spare=2, least=6),
)
ROWS = [
    {"name": "orders-of-the-north", "ready": "12", "delayed": "0", "note": "a long note about it"},
    {"name": "mail", "ready": "3", "delayed": "4", "note": "-"},
]


def lines_at(width: int) -> list[str]:
    file = io.StringIO()
    print_table(terminal(file, width), COLUMNS, ROWS)
    return shown(file)


def test_a_wide_terminal_shows_everything() -> None:
    assert lines_at(100) == [
        "NAME                 READY  DELAYED  NOTE",
        "orders-of-the-north     12        0  a long note about it",
        "mail                     3        4  -",
    ]


def test_a_narrower_one_cuts_what_may_be_cut() -> None:
    assert lines_at(40) == [
        "NAME         READY  DELAYED  NOTE",
        "orders-of-…     12        0  a long not…",
        "mail             3        4  -",
    ]


def test_a_narrow_one_leaves_spare_columns_out() -> None:
    assert lines_at(26) == ["NAME        READY  DELAYED", "orders-of…     12        0", "mail            3        4"]
    assert lines_at(20) == ["NAME           READY", "orders-of-th…     12", "mail               3"]


@pytest.mark.parametrize("width", range(20, 80))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(len(line) for line in lines_at(width)) <= width


def test_wide_characters_take_two_columns() -> None:
    file = io.StringIO()
    rows = [{"name": "注文", "ready": "1"}, {"name": "mail", "ready": "2"}]
    print_table(terminal(file, 80), COLUMNS[:2], rows)
    assert shown(file) == ["NAME  READY", "注文      1", "mail      2"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (-1.0, "0ms"),
        (0.0, "0ms"),
        (0.25, "250ms"),
        (1.0, "1s"),
        (59.4, "59s"),
        (60.0, "1m"),
        (75.2, "1m 15s"),
        (3600.0, "1h"),
        (3720.0, "1h 2m"),
        (86400.0, "1d"),
        (187_200.0, "2d 4h"),
    ],
)
def test_durations_in_two_units(seconds: float | None, text: str) -> None:
    assert show_seconds(seconds) == text


def test_an_age_counts_from_now_and_is_never_negative() -> None:
    now = datetime(2026, 1, 1, 0, 1, 5, tzinfo=UTC)
    assert show_age("2026-01-01T00:00:00Z", now) == "1m 5s"
    assert show_age("2026-01-01T01:02:00+01:00", now) == "0ms"


def test_counts_and_first_lines() -> None:
    assert [show_count(count, "message") for count in (0, 1, 1200)] == ["0 messages", "1 message", "1,200 messages"]
    assert first_line("\n a\x1b[31mb\tc \nrest") == "a [31mb c "
