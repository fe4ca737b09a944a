"""Filling hash tables from what scripts give: in steps that can be stopped, each key checked before it is hashed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from picloud.engine.sandbox.class_model import ScriptClass, script_defines
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import (
    ATOMS,
    MAPPINGS,
    SETS,
    SIZED,
    bounded,
    hashable,
    is_iterable,
    sized_result,
    spread,
)


def in_chunks(items: Iterable[Any], put: Callable[[list[Any]], object], size: int = 256) -> None:
    """Insert items into a hash table in small steps: colliding keys cannot hold the GIL for long.

    What an iterator gives goes in before the next is asked for: a script sees the order.
    """
    if type(items) not in SIZED:
        for item in items:  # bounded() has it checked at each
            put([item])
        return
    source = iter(items)
    meter = current_meter()
    while part := list(itertools.islice(source, size)):
        put(part)
        if meter.reason is not None:
            meter.fail()


def to_set(items: Iterable[Any] = ()) -> set[Any]:
    if type(items) in SETS:
        return sized_result(set(spread(items)))  # type: ignore[no-any-return]
    return add_keys(set(), items)


def add_keys(made: set[Any], items: Iterable[Any]) -> set[Any]:
    """Return the set of a display, with its next items."""
    in_chunks(bounded(items), lambda part: made.update(map(hashable, part)))
    return sized_result(made)  # type: ignore[no-any-return]


def put_pairs(target: Any, source: Iterable[Any]) -> None:
    """Do what dict.update does with pairs."""

    numbers = itertools.count()

    def put(part: list[Any]) -> None:
        for item in part:
            key, value = _pair(item, next(numbers))
            target[key] = value

    in_chunks(bounded(source), put)


def _pair(item: Any, at: int) -> tuple[Any, Any]:
    if type(item) is tuple and len(item) == 2:
        return hashable(item[0]), item[1]
    if not is_iterable(item):
        raise TypeError(f"cannot convert dictionary update sequence element #{at} to a sequence")
    count = len(item) if type(item) in SIZED else 0
    pair = list(bounded(item, 1000)) if count <= 2 else []
    if len(pair) != 2:
        raise ValueError(f"dictionary update sequence element #{at} has length {count or len(pair)}; 2 is required")
    return hashable(pair[0]), pair[1]


def dict_from_keys(keys: Iterable[Any], value: Any = None) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    in_chunks(bounded(keys), lambda part: made.update(dict.fromkeys(map(hashable, part), value)))
    return sized_result(made)  # type: ignore[no-any-return]


def to_mapping(source: Any) -> Any:
    """Guard what is unpacked by `**`: C code asks a mapping of the script for all of its keys in one go."""
    if type(source) in MAPPINGS:
        return spread(source)
    kind = type(source)
    scripted = type(kind) is ScriptClass
    if not (scripted and script_defines(kind, "keys")):
        if kind in ATOMS or kind in SIZED or (scripted and "keys" not in source.__dict__):
            return source  # the interpreter says in its own words that it is none
        raise TypeError(f"'{kind.__name__}' object is not a mapping")
    made: dict[Any, Any] = {}
    put_pairs(made, ((key, source[key]) for key in source.keys()))  # noqa: SIM118
    return made
