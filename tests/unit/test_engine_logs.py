"""Log lines: any value, never a failure, within limits, harmless to who shows them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_harness import Harness, open_harness


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness() as harness:
        yield harness


def test_levels_fields_and_prints_come_in_order(harness: Harness) -> None:
    outcome = harness.run(
        """
        def handle(event, ctx):
            log.debug("a")
            print("b", 1)
            log.info("c", order=7, items=[1, {"x": None}])
            log.warning("d")
            log.error("e", message="own", level=3)
        """
    )
    assert [(line.level, line.message, dict(line.fields)) for line in outcome.logs] == [
        ("debug", "a", {}),
        ("info", "b 1", {}),
        ("info", "c", {"order": 7, "items": [1, {"x": None}]}),
        ("warning", "d", {}),
        ("error", "e", {"message": "own", "level": 3}),
    ]
    assert all(line.at > 1_700_000_000 for line in outcome.logs)


def test_an_unfinished_print_line_is_kept(harness: Harness) -> None:
    outcome = harness.run("def handle(event, ctx):\n    print('no newline', end='')")
    assert [line.message for line in outcome.logs] == ["no newline"]


def test_any_value_can_be_logged(harness: Harness) -> None:
    outcome = harness.run(
        """
        class Point:
            pass
        def handle(event, ctx):
            log.info({"a": 1}, f=handle, p=Point(), s={1}, n=None, nan=float("nan"))
            return 1
        """
    )
    assert outcome.ok
    (line,) = outcome.logs
    assert line.message == "{'a': 1}"
    assert set(line.fields) == {"f", "p", "s", "n", "nan"}
    assert "0x" not in str(line.fields)


def test_a_failed_handler_keeps_its_lines(harness: Harness) -> None:
    outcome = harness.run("def handle(event, ctx):\n    log.info('so far')\n    raise ValueError('no')")
    assert [line.message for line in outcome.logs] == ["so far"]


def test_the_lines_of_a_callee_are_its_callers(harness: Harness) -> None:
    harness.deploy("callee", "def handle(event, ctx):\n    log.info('in the callee')\n    print('printed')")
    outcome = harness.run("def handle(event, ctx):\n    invoke('callee')\n    log.info('after')")
    assert [line.message for line in outcome.logs] == ["in the callee", "printed", "after"]


def test_control_characters_and_lone_surrogates_are_escaped(harness: Harness) -> None:
    outcome = harness.run(
        r"""
        def handle(event, ctx):
            log.info("a\nb\x1b[31m\0", key="c\nd\0", deep=[{"k\0": "\ud800"}])
            print("e\x1b]0;title\x07f\ud800")
        """
    )
    first, second = outcome.logs
    assert first.message == "a\\nb\\x1b[31m\\x00"
    assert first.fields == {"key": "c\\nd\\x00", "deep": [{"k\\x00": "\\ud800"}]}
    assert second.message == "e\\x1b]0;title\\x07f\\ud800"


@pytest.mark.parametrize("line", ["log.info('x', n=n)", "print('x', n)"])
def test_lines_past_the_limit_are_counted(line: str) -> None:
    with open_harness(max_log_lines=10) as harness:
        outcome = harness.run(f"def handle(event, ctx):\n    for n in range(25):\n        {line}")
    assert len(outcome.logs) == 11
    assert outcome.logs[-1].message == "15 more lines not kept: past the log limit"


@pytest.mark.parametrize("line", ["log.info('x' * 100)", "log.info('x', text='y' * 100)", "print('x' * 100)"])
def test_bytes_past_the_limit_are_not_kept(line: str) -> None:
    with open_harness(max_log_bytes=1000) as harness:
        outcome = harness.run(f"def handle(event, ctx):\n    for n in range(50):\n        {line}")
    assert outcome.ok
    assert len(outcome.logs) <= 12
    assert "more lines not kept" in outcome.logs[-1].message


def test_one_very_long_line_is_cut(harness: Harness) -> None:
    outcome = harness.run("def handle(event, ctx):\n    log.info('x' * 100000)")
    assert len(outcome.logs[0].message) == 16_000
