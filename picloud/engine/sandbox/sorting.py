"""sorted(), min() and max(): what a script's methods compare is guarded, and a long list is sorted piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from picloud.engine.sandbox.comparing import comparable, snapshot
from picloud.engine.sandbox.limits import MAX_WALK_NODES, SMALL
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import ATOMS, FEW, SIZED, Extent, bounded, few

_QUICKLY_COMPARED: Final = frozenset([str, bytes, int, float, bool])
"""Types of which C code may compare a few, however long they are."""
_MAX_NODES: Final = 10 * MAX_WALK_NODES
_PIECE: Final = 8192
"""Items that C code sorts at once."""


class _Kept:
    """A key whose comparison runs code of the script: each time with a copy, and stoppable.

    What a method of the script is handed it may keep, and make deep before it is compared again.
    """

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def _bare(value: Any) -> Any:
    current_meter().check()
    return value.held if isinstance(value, _Kept) else value


class _ByLess(_Kept):
    """For `a < b`; `b > a` is asked where a is no key of this kind."""

    __slots__ = ()

    def __lt__(self, other: Any) -> Any:
        return comparable(self.held) < _bare(other)

    def __gt__(self, other: Any) -> Any:
        return comparable(_bare(other)) < self.held


class _ByMore(_Kept):
    """For `a > b`; `b < a` is asked where a is no key of this kind."""

    __slots__ = ()

    def __gt__(self, other: Any) -> Any:
        return comparable(self.held) > _bare(other)

    def __lt__(self, other: Any) -> Any:
        return comparable(_bare(other)) > self.held


def _ordered(value: Any, extent: Extent, kept_as: type[_Kept]) -> Any:
    """Guard what C code compares many times."""
    if type(value) is float or (type(value) is int and -SMALL < value < SMALL):
        return value
    extent.scripted = False
    kept = snapshot(value, extent)
    return kept_as(kept) if kept is not value or extent.scripted else kept


def key_function(key: Callable[[Any], Any], kept_as: type[_Kept] = _ByLess) -> Callable[[Any], Any]:
    """Guard a sort key: what it returns is compared by C code many times, and later."""
    extent = Extent(limit=_MAX_NODES)
    return lambda item: _ordered(key(item), extent, kept_as)


def _itself(item: Any) -> Any:
    return item


def _extreme(choose: Callable[..., Any], arguments: tuple[Any, ...], key: Any, default: dict[str, Any]) -> Any:
    if len(arguments) == 1:
        source = bounded(arguments[0])
        arguments = (source,)
        plain = type(source) in SIZED and not _runs_script(source)
    else:
        plain = ATOMS.issuperset(map(type, arguments)) and not _runs_script(arguments)
    kept_as = _ByMore if choose is max else _ByLess
    if key is not None:
        key = key_function(key, kept_as)
    elif not plain:

        def key(item: Any) -> Any:
            return _ordered(item, Extent(), kept_as)

    return choose(*arguments, key=key, **default)


def _runs_script(items: Any, limit: int = MAX_WALK_NODES) -> bool:
    """Tell whether a script's methods may run when C code compares the items.

    Raises: LimitError for too much.
    """
    if len(items) <= FEW and _QUICKLY_COMPARED.issuperset(map(type, items)):
        return False
    extent = Extent(limit)
    extent.add(items)
    return extent.scripted


def minimum(*arguments: Any, key: Any = None, **default: Any) -> Any:
    return _extreme(min, arguments, key, default)


def maximum(*arguments: Any, key: Any = None, **default: Any) -> Any:
    return _extreme(max, arguments, key, default)


def sort_list(items: list[Any], *, key: Any = None, reverse: bool = False) -> None:
    if key is None and _runs_script(items, _MAX_NODES):
        key = _itself
    guarded = None if key is None else key_function(key)
    if len(items) > _PIECE:
        _sort_pieces(items, guarded, reverse)
    else:
        items.sort(key=guarded, reverse=reverse)


def _sort_pieces(items: list[Any], key: Callable[[Any], Any] | None, reverse: bool) -> None:
    """Sort piece by piece, and merge these: C code makes one of two that are in order in one pass."""
    held = items[:]
    items.clear()  # as Python does: a key function may look at it
    try:
        keys = held if key is None else [key(item) for item in held]
        order = list(range(len(held)))
        for start in range(0, len(order), _PIECE):
            _sort_part(order, start, start + _PIECE, keys, reverse)
        length = _PIECE
        while length < len(order):
            for start in range(0, len(order) - length, 2 * length):
                _merge(order, start, start + length, min(start + 2 * length, len(order)), keys, reverse)
            length *= 2
        held = [held[at] for at in order]
    finally:
        changed = len(items) > 0
        items[:] = held
    if changed:
        raise ValueError("list modified during sort")


def _sort_part(order: list[int], start: int, end: int, keys: list[Any], reverse: bool) -> None:
    part = order[start:end]
    part.sort(key=keys.__getitem__, reverse=reverse)
    order[start:end] = part
    current_meter().check()


def _merge(order: list[int], start: int, middle: int, end: int, keys: list[Any], reverse: bool) -> None:
    """Merge two sorted parts; large ones are split at the middle of the left one first, so that no pass is long."""
    if end - start <= 8 * _PIECE or middle - start < 2:
        _sort_part(order, start, end, keys, reverse)
        return
    half = (start + middle) // 2
    pivot = keys[order[half]]
    low, high = middle, end
    while low < high:  # where the right part's keys are no longer before the pivot
        at = (low + high) // 2
        is_before = pivot < keys[order[at]] if reverse else keys[order[at]] < pivot
        low, high = (at + 1, high) if is_before else (low, at)
    order[half:low] = order[middle:low] + order[half:middle]
    first = half + low - middle
    _merge(order, start, half, first, keys, reverse)
    _merge(order, first, low, end, keys, reverse)


def sorted_list(items: Iterable[Any], /, *, key: Any = None, reverse: bool = False) -> list[Any]:
    made = list(few(items))
    sort_list(made, key=key, reverse=reverse)
    return made
