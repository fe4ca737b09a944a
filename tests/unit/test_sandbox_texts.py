"""A long text is split in steps, into what Python splits it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from picloud.engine.sandbox import Limits, Meter, Watchdog
from picloud.engine.sandbox import methods_of_texts as texts


@pytest.fixture
def short_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(texts, "SPLIT_AT_ONCE", 0)
    monkeypatch.setattr(texts, "_STEP", 3)
    watchdog = Watchdog()
    with watchdog.seat() as seat:
        yield lambda work: seat.run(Meter(Limits()), work)
    watchdog.close()


def test_splitting_in_steps_is_splitting(short_steps: Any) -> None:
    source = random.Random(5)

    def compare() -> None:
        for _ in range(20_000):
            text = "".join(source.choices("ab ,\n\r\t", k=source.randrange(30)))
            sep = source.choice([None, ",", ", ", "a", " "])
            most = source.choice([-1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 100])
            for value, by in ((text, sep), (text.encode(), sep and sep.encode())):
                assert texts.split(value, by, most) == value.split(by, most), (value, by, most)
                assert texts.split_from_end(value, by, most) == value.rsplit(by, most), (value, by, most)
                assert texts.split_lines(value) == value.splitlines()

    short_steps(compare)


@pytest.mark.parametrize(("sep", "most"), [("", -1), (5, -1), (None, "x"), (None, 1.5)])
def test_what_split_refuses_is_refused_in_its_words(short_steps: Any, sep: Any, most: Any) -> None:
    for ours, name in ((texts.split, "split"), (texts.split_from_end, "rsplit")):
        with pytest.raises(Exception) as expected:  # noqa: PT011 - whichever Python raises
            getattr("a b", name)(sep, most)
        with pytest.raises(expected.type) as found:
            short_steps(lambda ours=ours: ours("a b", sep, most))
        assert str(found.value) == str(expected.value)
