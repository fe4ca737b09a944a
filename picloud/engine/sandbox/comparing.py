"""What a comparison may cost: its left side bounds it, as it is now; two kinds of numbers hang on both sides."""

from __future__ import annotations

from typing import Any

from picloud.engine.sandbox.containers import Counter, DefaultDict
from picloud.engine.sandbox.sizes import ATOMS, FEW, ITEMS_VIEW, MAPPINGS, SEQUENCES, SETS, Extent
from picloud.engine.sandbox.stops import LimitError


def comparable(value: Any) -> Any:
    """Guard the left side of a comparison: what it costs is bounded by that side, as it is now.

    Containers are copied: the script's code may run before the comparison (its right side) and within it (an __eq__ on
    either side), and could make them longer.
    """
    return value if type(value) in ATOMS else snapshot(value, Extent())


def left_side(value: Any) -> Any:
    """Guard the left side of a comparison that C code makes: what it costs may hang on the right side, too."""
    if type(value) in ATOMS:
        return value
    extent = Extent()
    kept = snapshot(value, extent)
    return _Careful(kept, extent) if extent.decimals > FEW or extent.long_integers > FEW else kept


def inner_side(value: Any) -> Any:
    """Guard what stands between two comparisons: its left neighbour may be an object of the script, and sees it."""
    kept = left_side(value)
    if type(kept) is _Careful:
        raise LimitError("many Decimals or long integers cannot be compared in a chain: use 'and'")
    return kept


class _Careful:
    """A left side with many Decimals or long integers: one Decimal against one integer takes the integer's square."""

    __slots__ = ("_extent", "_value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, extent: Extent) -> None:
        self._value = value
        self._extent = extent

    def _checked(self, other: Any) -> Any:
        if type(other) in ATOMS:
            return other
        extent = Extent()
        kept = snapshot(other, extent)
        pairs = min(self._extent.decimals, extent.long_integers) + min(self._extent.long_integers, extent.decimals)
        if pairs > FEW:
            raise LimitError("comparing many Decimals with long integers takes too long")
        return kept

    def __eq__(self, other: object) -> Any:
        return self._value == self._checked(other)

    def __ne__(self, other: object) -> Any:
        return self._value != self._checked(other)

    def __lt__(self, other: Any) -> Any:
        return self._value < self._checked(other)

    def __le__(self, other: Any) -> Any:
        return self._value <= self._checked(other)

    def __gt__(self, other: Any) -> Any:
        return self._value > self._checked(other)

    def __ge__(self, other: Any) -> Any:
        return self._value >= self._checked(other)


def snapshot(value: Any, extent: Extent) -> Any:
    """Return a copy of the containers in a value that C code will visit later, or while it calls the script."""
    extent.add(value)
    return _copied(value)


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind in MAPPINGS:
        if ATOMS.issuperset(map(type, value.values())):
            return value.copy()
        items = {key: _copied(item) for key, item in value.items()}
        return Counter(items) if kind is Counter else items if kind is dict else DefaultDict(None, items)
    if kind is ITEMS_VIEW:
        return {key: _copied(item) for key, item in value}.items()
    if kind in SETS:
        return kind(value)
    if kind not in SEQUENCES:
        return value
    if ATOMS.issuperset(map(type, value)):
        return value if kind is tuple else value.copy()
    return kind([_copied(item) for item in value])
