"""A failure in the author's terms: type, message, line and source, and nothing of picloud."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_harness import Harness, open_harness


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness() as harness:
        yield harness


def test_an_error_shows_type_message_line_and_source(harness: Harness) -> None:
    error = harness.run("def handle(event, ctx):\n    order = {}\n    return order['sku']  # gone").error
    assert error is not None
    assert (error.type, error.message, error.line, error.source) == (
        "KeyError",
        "'sku'",
        3,
        "return order['sku']  # gone",
    )
    assert [(frame.script, frame.line, frame.function) for frame in error.stack] == [("main", 3, "handle")]


def test_the_stack_has_only_the_authors_frames(harness: Harness) -> None:
    error = harness.run(
        """
        def inner():
            return queue.enqueue("bad name!", 1)
        def handle(event, ctx):
            return inner()
        """
    ).error
    assert error is not None
    assert error.type == "InvalidName"
    assert error.message.startswith("queue: invalid queue name 'bad name!'")
    assert [(frame.line, frame.function) for frame in error.stack] == [(5, "handle"), (3, "inner")]
    assert error.line == 3


def test_an_error_of_the_authors_own_class_has_its_name(harness: Harness) -> None:
    source = """
        class AppError(Exception):
            pass
        def handle(event, ctx):
            raise AppError("no such order")
        """
    assert harness.failure(source) == "AppError: no such order"


def test_an_error_while_the_module_is_read_has_its_line(harness: Harness) -> None:
    error = harness.run("x = 1\ny = x / 0\ndef handle(event, ctx):\n    return 1").error
    assert error is not None
    assert (error.type, error.line, error.source) == ("ZeroDivisionError", 2, "y = x / 0")


def test_a_script_without_a_handler_says_what_to_define(harness: Harness) -> None:
    assert "script 'main' defines no function handle(event, ctx)" in harness.failure("x = 1")


@pytest.mark.parametrize(
    "loop", ["while True:\n        pass", "while True:\n        x = 1", "for n in iter(int, 1):\n        pass"]
)
def test_a_spinning_script_is_stopped_at_its_line(loop: str) -> None:
    with open_harness(timeout_secs=0.1) as harness:
        outcome = harness.run(f"def handle(event, ctx):\n    {loop}")
    assert outcome.error is not None
    assert outcome.error.type == "BudgetExceeded"
    assert outcome.error.message in ("ran past 0.1 s (line 2)", "ran past 0.1 s (line 3)")
    assert outcome.duration < 1.2
    assert not outcome.cancelled


def test_a_stop_cannot_be_caught() -> None:
    source = """
        def handle(event, ctx):
            while True:
                try:
                    while True:
                        pass
                except Exception:
                    continue
        """
    with open_harness(timeout_secs=0.1) as harness:
        assert harness.failure(source).startswith("BudgetExceeded: ran past 0.1 s (line ")


def test_a_deep_recursion_keeps_the_ends_of_its_stack(harness: Harness) -> None:
    error = harness.run(
        """
        def down(n):
            return n if n == 0 else 1 + down(n - 1)
        def handle(event, ctx):
            down(100)
            def fail(n):
                if n == 0:
                    raise ValueError("bottom")
                return fail(n - 1)
            return fail(90)
        """
    ).error
    assert error is not None
    assert len(error.stack) == 40
    assert error.stack[0].function == "handle"
    assert error.stack[-1].source == 'raise ValueError("bottom")'
    assert error.line == 8


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\\0b", "a\\x00b"),
        ("\\x1b[31mred", "\\x1b[31mred"),
        ("line\\nbreak", "line\\nbreak"),
        ("\\ud800", "\\ud800"),
        ("caf\\u00e9 \\U0001f600", "café 😀"),
    ],
)
def test_a_message_is_made_harmless(harness: Harness, text: str, shown: str) -> None:
    error = harness.run(f"def handle(event, ctx):\n    raise ValueError('{text}')").error
    assert error is not None
    assert error.message == shown
    error.message.encode()


def test_a_long_message_is_cut(harness: Harness) -> None:
    error = harness.run("def handle(event, ctx):\n    raise ValueError('x' * 100000)").error
    assert error is not None
    assert 1000 < len(error.message) <= 2001


def test_an_error_whose_text_cannot_be_made_is_still_told(harness: Harness) -> None:
    source = """
        class Odd(Exception):
            def __str__(self):
                raise KeyError("in str")
        def handle(event, ctx):
            raise Odd()
        """
    assert harness.failure(source).startswith("Odd: ")


def test_an_error_whose_text_never_ends_is_stopped() -> None:
    source = """
        class Odd(Exception):
            def __str__(self):
                while True:
                    pass
        def handle(event, ctx):
            raise Odd()
        """
    with open_harness(timeout_secs=0.2) as harness:
        outcome = harness.run(source)
    assert not outcome.ok
    assert outcome.duration < 1.5
