"""Values of the host with named parts, as Python's named tuples: read by name or by place, and never a tuple.

A subclass of tuple would slip past every guard that looks at the exact type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar


def _reader(at: int) -> Callable[[Record], Any]:
    return lambda record: record._values[at]


class Record:
    """The parts in the order of `_fields_`; they hold no values of a script."""

    __slots__ = ("_values",)
    _fields_: ClassVar[tuple[str, ...]] = ()
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        for at, name in enumerate(cls._fields_):
            setattr(cls, name, property(_reader(at)))
        cls._sandbox_attrs_ |= frozenset(cls._fields_)

    def __init__(self, values: tuple[Any, ...]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        return self._values[index]

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Record):
            return self._values == other._values
        return self._values == other if type(other) is tuple else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values)

    def _sandbox_repr_(self) -> str:
        parts = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields_, self._values, strict=True)])
        return f"{type(self).__name__}({parts})"
