"""A long list is sorted piece by piece, and comes out as Python sorts it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sandbox_seat import run_metered

from picloud.engine.sandbox import sorting


@pytest.fixture(autouse=True)
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_PIECE", 4)


def test_order_and_stability_are_those_of_python() -> None:
    source = random.Random(7)

    def compare() -> None:
        for _ in range(2000):
            rows = [(source.randrange(5), place) for place in range(source.randrange(60))]
            for reverse in (False, True):
                expected = sorted(rows, key=lambda row: row[0], reverse=reverse)
                assert sorting.sorted_list(rows, key=lambda row: row[0], reverse=reverse) == expected
                assert sorting.sorted_list(rows, reverse=reverse) == sorted(rows, reverse=reverse)

    run_metered(lambda meter: compare())


def test_a_key_that_fails_leaves_the_list_as_it_was() -> None:
    items: list[Any] = [3, 1, 2, 0, 9, 8, 7]

    def key(item: int) -> float:
        return 1 / item

    with pytest.raises(ZeroDivisionError):
        run_metered(lambda meter: sorting.sort_list(items, key=key))
    assert items == [3, 1, 2, 0, 9, 8, 7]


def test_a_list_changed_meanwhile_is_told() -> None:
    items = [3, 1, 2, 5, 9, 8, 7]

    def key(item: int) -> int:
        items.append(item)
        return item

    with pytest.raises(ValueError, match="list modified during sort"):
        run_metered(lambda meter: sorting.sort_list(items, key=key))


def test_what_cannot_be_compared_says_so_in_python_s_words() -> None:
    with pytest.raises(TypeError, match="'<' not supported between instances of 'str' and 'int'"):
        run_metered(lambda meter: sorting.sorted_list([1, 2, 3, 4, 5, "a"]))
