"""A long text is split in steps, into what Python splits it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sandbox_seat import run_metered

from picloud.engine.sandbox import Meter
from picloud.engine.sandbox import methods_of_texts as texts
from picloud.engine.sandbox.modules.encoding import dump_json
from picloud.engine.sandbox.text import to_repr


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "SPLIT_AT_ONCE", 0)
    monkeypatch.setattr(texts, "_STEP", 3)


def test_splitting_in_steps_is_splitting() -> None:
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

    run_metered(lambda meter: compare())


def test_a_text_is_charged_once_when_it_is_written_out() -> None:
    def charged(write: Any) -> int:
        def work(meter: Meter) -> int:
            write(["x" * 100_000])
            return meter.allocated_bytes

        return run_metered(work)

    for write in (dump_json, to_repr):
        assert 100_000 < charged(write) < 110_000


@pytest.mark.parametrize(("sep", "most"), [("", -1), (5, -1), (None, "x"), (None, 1.5)])
def test_what_split_refuses_is_refused_in_its_words(sep: Any, most: Any) -> None:
    for ours, name in ((texts.split, "split"), (texts.split_from_end, "rsplit")):
        with pytest.raises(Exception) as expected:  # noqa: PT011 - whichever Python raises
            getattr("a b", name)(sep, most)
        with pytest.raises(expected.type) as found:
            run_metered(lambda meter, ours=ours: ours("a b", sep, most))
        assert str(found.value) == str(expected.value)
