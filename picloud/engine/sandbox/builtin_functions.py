"""The built-in functions of scripts, where the original could run without end or show too much."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from picloud.engine.sandbox.comparing import comparable, snapshot
from picloud.engine.sandbox.containers import BigRange, small_range
from picloud.engine.sandbox.limits import MAX_INT_BITS, MAX_NUMBER_TEXT, MAX_WALK_NODES
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.operators import SMALL, add
from picloud.engine.sandbox.sizes import (
    ATOMS,
    FEW,
    MAPPINGS,
    SEQUENCES,
    SIZED,
    TEXTS,
    Extent,
    bounded,
    expect_items,
    expect_text,
    hashable,
    is_iterable,
    sized_result,
    spread,
    unpackable,
    walk,
)
from picloud.engine.sandbox.stops import LimitError
from picloud.engine.sandbox.tables import put_pairs, to_set
from picloud.engine.sandbox.text import encode, to_text

_NUMBERS = frozenset([int, float])
_QUICKLY_COMPARED = frozenset([str, bytes, int, float, bool])
"""Types of which C code may compare a few, however long they are."""
_MAX_KEY_NODES = 10 * MAX_WALK_NODES


# Containers.


def to_list(items: Iterable[Any] = ()) -> list[Any]:
    return sized_result(list(_few(items)))  # type: ignore[no-any-return]


def _few(items: Iterable[Any]) -> Iterable[Any]:
    """Return what becomes a sequence: of a text, every character is an item, and takes its room."""
    if type(items) in TEXTS:
        expect_items(len(items))  # type: ignore[arg-type]
    return bounded(items)


def to_tuple(items: Iterable[Any] = ()) -> tuple[Any, ...]:
    return sized_result(tuple(_few(items)))  # type: ignore[no-any-return]


def to_frozenset(items: Iterable[Any] = ()) -> frozenset[Any]:
    return walk(frozenset(to_set(items)))  # type: ignore[no-any-return]


def to_dict(source: Any = (), /, **entries: Any) -> dict[Any, Any]:
    if type(source) in MAPPINGS:
        return sized_result(dict(spread(source), **entries))  # type: ignore[no-any-return]
    made: dict[Any, Any] = {}
    put_pairs(made, source)
    made.update(entries)
    return sized_result(made)  # type: ignore[no-any-return]


def to_bytes(source: Any = b"", encoding: object = None, errors: object = None) -> bytes:
    kind = type(source)
    if kind is str and encoding is not None:
        return encode(source, encoding, "strict" if errors is None else errors)  # type: ignore[no-any-return]
    if encoding is not None or errors is not None:
        what = "string argument without an encoding" if kind is str else "encoding without a string argument"
        raise TypeError(what if encoding is not None or kind is str else "errors without a string argument")
    if kind is int or kind is bool:
        expect_text(source)
        return bytes(source)
    return sized_result(bytes(unpackable(source)))  # type: ignore[no-any-return]


# Numbers.


def to_int(value: Any = 0, base: Any = None) -> int:
    kind = type(value)
    if kind in TEXTS:
        if len(value) > MAX_NUMBER_TEXT:
            raise LimitError(f"the number is longer than {MAX_NUMBER_TEXT} characters")
        return sized_result(int(value) if base is None else int(value, base))  # type: ignore[no-any-return]
    if base is not None:
        raise TypeError("int() can't convert non-string with explicit base")
    return int(value)


def to_float(value: Any = 0.0) -> float:
    if type(value) in TEXTS and len(value) > MAX_NUMBER_TEXT:
        raise LimitError(f"the number is longer than {MAX_NUMBER_TEXT} characters")
    return float(value)


def round_number(number: Any, ndigits: Any = None) -> Any:
    if ndigits is None:
        return round(number)
    if type(ndigits) is int and abs(ndigits) > 1000:
        raise LimitError("round() takes at most 1000 digits")
    return round(number, ndigits)


def total(items: Iterable[Any], /, start: Any = 0) -> Any:
    """sum()."""
    if type(start) in TEXTS:
        what, empty = ("strings", "''") if type(start) is str else ("bytes", "b''")
        raise TypeError(f"sum() can't sum {what} [use {empty}.join(seq) instead]")
    items = bounded(items)
    kind = type(items)
    meter = current_meter()
    result = start
    if type(start) in _NUMBERS and (kind is range or (kind in SEQUENCES and _NUMBERS.issuperset(map(type, items)))):
        source = iter(items)
        # long integers take their time: C code gets some thousands at a time
        while part := list(itertools.islice(source, 4096)):
            result = sum(part, result)
            if meter.reason is not None:
                meter.fail()
        return sized_result(result)
    for item in items:
        if meter.reason is not None:
            meter.fail()
        result = add(result, item)
    return result


# Comparing.


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
    extent = Extent(limit=_MAX_KEY_NODES)
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


def _runs_script(items: Any) -> bool:
    """Tell whether a script's methods may run when C code compares the items.

    Raises: LimitError for too much.
    """
    if len(items) <= FEW and _QUICKLY_COMPARED.issuperset(map(type, items)):
        return False
    extent = Extent()
    extent.add(items)
    return extent.scripted


def minimum(*arguments: Any, key: Any = None, **default: Any) -> Any:
    return _extreme(min, arguments, key, default)


def maximum(*arguments: Any, key: Any = None, **default: Any) -> Any:
    return _extreme(max, arguments, key, default)


def sort_list(items: list[Any], *, key: Any = None, reverse: bool = False) -> None:
    if key is None and _runs_script(items):
        key = _itself
    items.sort(key=None if key is None else key_function(key), reverse=reverse)


def sorted_list(items: Iterable[Any], /, *, key: Any = None, reverse: bool = False) -> list[Any]:
    made = list(_few(items))
    sort_list(made, key=key, reverse=reverse)
    return made


def any_of(items: Iterable[Any]) -> bool:
    return any(bounded(items))


def all_of(items: Iterable[Any]) -> bool:
    return all(bounded(items))


def hash_value(value: Any) -> int:
    """hash() for scripts: what hangs on an address is scrambled, by a hash of texts whose key no script knows."""
    return _hidden_hash(hashable(value))


def _hidden_hash(value: Any) -> int:
    kind = type(value)
    if kind in ATOMS:
        return hash(value)
    if kind is not tuple and kind is not frozenset:
        return hash(str(hash(value)))
    return hash(value) if ATOMS.issuperset(map(type, value)) else hash(kind(map(_hidden_hash, value)))


# The rest.


def make_range(*arguments: Any) -> range | BigRange:
    return small_range(range(*arguments))


def print_line(*values: Any, sep: Any = " ", end: Any = "\n", flush: bool = False, file: None = None) -> None:
    """print(): into the log of the execution."""
    meter = current_meter()
    if len(values) > 1000:
        raise LimitError("print() takes at most 1000 values")
    room = meter.limits.log_bytes - meter.output_bytes
    between = to_text(sep)[:100] if sep is not None else " "
    parts = []
    for value in values:
        if room <= 0:
            break
        part = to_text(value)[: room + 1]
        room -= len(part) + len(between)
        parts.append(part)
    meter.emit(between.join(parts) + (to_text(end)[:100] if end is not None else "\n"))


def int_from_bytes(data: Any, byteorder: str = "big", *, signed: bool = False) -> int:
    """int.from_bytes."""
    if type(data) is str or not is_iterable(data):
        raise TypeError(f"cannot convert '{type(data).__name__}' object to bytes")
    if type(data) is not bytes:
        data = to_bytes(data)
    if len(data) > MAX_INT_BITS // 8:
        raise LimitError(f"the integer has more than {MAX_INT_BITS} bits")
    return int.from_bytes(data, "little" if byteorder == "little" else "big", signed=bool(signed))
