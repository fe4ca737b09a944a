"""Looking for a value in a sequence: by C code where that ends soon, else item by item, in steps that can be stopped.

C code compares the value with every item in one go, and an error of its own shows a value that is not there with its
address, or with all that an exception holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.limits import SMALL
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import ATOMS, MOMENTS, SIZED, TEXTS
from picloud.engine.sandbox.text import to_repr

_SHORT_TUPLE: Final = 16
_LONGEST: Final = 100_000_000
"""Nanoseconds that one search by C code may take."""


def _cost(atom: Any) -> int | None:
    """Return about how many nanoseconds one comparison takes; None for what holds other values."""
    kind: Any = type(atom)
    if kind in TEXTS:
        return 20 + len(atom) // 8
    if kind is int:
        return 20 if -SMALL < atom < SMALL else 200 + atom.bit_length() // 32
    if kind in MOMENTS:
        return 2000  # each asks its time zone
    return 100 if kind in ATOMS else None


def _is_quick(item: Any, sequence: Any) -> bool:
    """Tell whether C code may compare the item with all of the sequence in one go."""
    costs = list(map(_cost, item)) if type(item) is tuple and len(item) <= _SHORT_TUPLE else [_cost(item)]
    if None in costs:
        return False
    cost = 20 + sum([one for one in costs if one is not None])
    return cost * len(sequence) <= _LONGEST


def _places(item: Any, items: Iterator[Any]) -> Iterator[int]:
    """Yield where the item is.

    Each item is compared with a copy of its own: its __eq__ may change what it is compared with.
    """
    meter = current_meter()
    kept = comparable(item)
    is_steady = kept is item
    for at, held in enumerate(items):
        if meter.reason is not None:
            meter.fail()
        if held is item or _are_equal(held, kept if is_steady else comparable(item)):
            yield at


def _are_equal(held: Any, item: Any) -> Any:
    return comparable(held) == item if type(held) in SIZED else held == item


def is_in(item: Any, sequence: Any) -> bool:
    """`item in sequence`."""
    if _is_quick(item, sequence):
        return item in sequence
    return next(_places(item, iter(sequence)), None) is not None


def searching(kind: Any, name: str) -> Callable[..., Any]:
    """Guard `index`, `count` or `remove` of a type of sequences."""
    method = getattr(kind, name)
    search = {"index": _index, "count": _count, "remove": _remove}[name]

    def call(sequence: Any, item: Any, *more: Any) -> Any:
        return method(sequence, item, *more) if _is_quick(item, sequence) else search(sequence, item, *more)

    return call


def _index(sequence: Any, item: Any, start: Any = 0, stop: Any = None) -> int:
    first, last, _ = slice(start, stop).indices(len(sequence))
    place = next(_places(item, itertools.islice(sequence, first, max(first, last))), None)
    if place is None:
        what = _title(sequence)
        raise ValueError(
            f"{what}.index(x): x not in {what}" if what == "tuple" else f"{to_repr(item)} is not in {what}"
        )
    return first + place


def _title(sequence: Any) -> str:
    return type(sequence).__name__.rpartition(".")[2]


def _count(sequence: Any, item: Any) -> int:
    return sum([1 for _ in _places(item, iter(sequence))])


def _remove(sequence: Any, item: Any) -> None:
    place = next(_places(item, iter(sequence)), None)
    if place is None:
        what = _title(sequence)
        raise ValueError(
            f"{to_repr(item)} is not in deque" if what == "deque" else f"{what}.remove(x): x not in {what}"
        )
    del sequence[place]
