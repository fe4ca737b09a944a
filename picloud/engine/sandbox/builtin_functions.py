"""The built-in functions of scripts, where the original could run without end or show too much."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from picloud.engine.sandbox.containers import BigRange, small_range
from picloud.engine.sandbox.limits import MAX_INT_BITS, MAX_NUMBER_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.operators import add
from picloud.engine.sandbox.sizes import (
    ATOMS,
    MAPPINGS,
    SEQUENCES,
    TEXTS,
    bounded,
    expect_text,
    few,
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


# Containers.


def to_list(items: Iterable[Any] = ()) -> list[Any]:
    return sized_result(list(few(items)))  # type: ignore[no-any-return]


def to_tuple(items: Iterable[Any] = ()) -> tuple[Any, ...]:
    return sized_result(tuple(few(items)))  # type: ignore[no-any-return]


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
