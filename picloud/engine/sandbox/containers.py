"""Types that scripts get in place of the built-in ones that can crash the interpreter.

Generators, deque, defaultdict and the iterators of itertools free nested chains recursively in C: some 100,000 levels
are a segmentation fault (3.11 to 3.13, tried 2026-11). A Python subclass is freed through CPython's trashcan, which has
no such limit; asking a chain of C iterators for its next item is C recursion too, so their nesting is counted.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Generator, Iterable, Iterator
from typing import Any, Self

from picloud.engine.sandbox.limits import MAX_GENERATORS, MAX_ITEMS, MAX_ITERATOR_NESTING
from picloud.engine.sandbox.meter import Meter, current_meter
from picloud.engine.sandbox.stops import LimitError


class Deque(collections.deque[Any]):
    """collections.deque, safe to nest."""

    __slots__ = ()


class DefaultDict(collections.defaultdict[Any, Any]):
    """collections.defaultdict, safe to nest."""

    __slots__ = ()


class Counter(collections.Counter[Any]):
    """collections.Counter under its own type, so that a script's value is never taken for a host's."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _own(super().__add__(other))

    def __sub__(self, other: Any) -> Any:
        return _own(super().__sub__(other))

    def __or__(self, other: Any) -> Any:
        return _own(super().__or__(other))

    def __and__(self, other: Any) -> Any:
        return _own(super().__and__(other))

    def __pos__(self) -> Any:
        return _own(super().__pos__())

    def __neg__(self) -> Any:
        return _own(super().__neg__())


def _own(made: Any) -> Any:
    """The operators of collections.Counter make one of their own type."""
    return made if made is NotImplemented else Counter(made)


class Lazy(itertools.chain[Any]):
    """An iterator at C speed over one source."""

    __slots__ = ("nesting",)
    nesting: int

    def __new__(cls, source: Iterable[Any], *others: Iterable[Any]) -> Self:
        iterator = iter(source)
        self = super().__new__(cls, iterator)
        self.nesting = nesting_above(iterator)
        return self


class Pairs(zip):  # type: ignore[type-arg]
    """zip, safe to nest."""

    __slots__ = ("nesting",)
    nesting: int


class Numbered(enumerate):  # type: ignore[type-arg]
    """enumerate, safe to nest."""

    __slots__ = ("nesting",)
    nesting: int


class Mapped(map):  # type: ignore[type-arg]
    """map, safe to nest."""

    __slots__ = ("nesting",)
    nesting: int


class _Counted:
    """A generator, of which an execution may have so many: the garbage collector visits every frame in one go."""

    __slots__ = ()

    def _count(self: Any) -> None:
        self._meter = meter = current_meter()
        meter.generators += 1
        if meter.generators > MAX_GENERATORS:
            raise LimitError(f"more than {MAX_GENERATORS} generators at once")

    def __del__(self: Any) -> None:
        self._meter.generators -= 1


class Generated(_Counted, Lazy):
    """What a generator function returns: the generator itself stays out of reach."""

    __slots__ = ("_generator", "_meter")
    _generator: Generator[Any, Any, Any]
    _meter: Meter
    _sandbox_attrs_ = frozenset(["close", "send"])

    def __new__(cls, source: Generator[Any, Any, Any]) -> Self:
        self = super().__new__(cls, source)
        self._generator = source
        self._count()
        return self

    def send(self, value: object) -> object:
        return self._generator.send(value)

    def close(self) -> None:
        self._generator.close()


class Returning(_Counted):
    """A generator with a return value: the C iterators above would lose it on its way to `yield from`."""

    __slots__ = ("_generator", "_meter")
    _sandbox_attrs_ = frozenset(["close", "send"])

    def __init__(self, source: Generator[Any, Any, Any]) -> None:
        self._generator = source
        self._count()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> object:
        return self._generator.__next__()

    def send(self, value: object) -> object:
        return self._generator.send(value)

    def close(self) -> None:
        self._generator.close()


class BigRange:
    """A range of more than a million numbers: iterated in steps that can be stopped."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __iter__(self) -> Iterator[int]:
        return Lazy(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, item: object) -> bool:
        return type(item) is int and item in self._numbers

    def __getitem__(self, index: Any) -> int | BigRange:
        found = self._numbers[index]
        return BigRange(found) if isinstance(found, range) else found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BigRange) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)


_LONG = 1 << 64

LAZY_TYPES = frozenset([Lazy, Pairs, Numbered, Mapped, Generated])
ITERATOR_TYPES = LAZY_TYPES | {Returning}


for _kind, _name in (
    (Deque, "collections.deque"), (DefaultDict, "collections.defaultdict"), (Pairs, "zip"), (Numbered, "enumerate"),
    (Mapped, "map"), (Generated, "generator"), (Returning, "generator"), (BigRange, "range"), (Lazy, "iterator"),
):  # fmt: skip
    # an error's text names the type that the script asked for
    _kind.__name__ = _kind.__qualname__ = _name


def nesting_above(iterator: object) -> int:
    """Return the C nesting of an iterator over `iterator`.

    Raises: LimitError past MAX_ITERATOR_NESTING. A generator's frame counts as Python recursion, so it starts anew.
    """
    kind = type(iterator)
    if kind is Generated or kind not in LAZY_TYPES:
        return 1
    nesting: int = iterator.nesting + 1  # type: ignore[attr-defined]
    if nesting > MAX_ITERATOR_NESTING:
        raise LimitError(f"iterators are nested deeper than {MAX_ITERATOR_NESTING}")
    return nesting


def small_range(numbers: range) -> range | BigRange:
    """Return the range itself while C code may run over it without a check: few numbers, and none of them long."""
    short = numbers.stop - numbers.start <= MAX_ITEMS and numbers.start - numbers.stop <= MAX_ITEMS
    short = short and -_LONG < numbers.start < _LONG and -_LONG < numbers.stop < _LONG
    return numbers if short else BigRange(numbers)
