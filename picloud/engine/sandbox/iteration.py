"""Iterators for scripts: at C speed, stoppable, safe to nest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from picloud.engine.sandbox.class_model import ScriptClass
from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.containers import (
    ITERATOR_TYPES,
    Deque,
    Generated,
    Lazy,
    Mapped,
    Numbered,
    Pairs,
    Returning,
    nesting_above,
)
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import MAPPINGS, TEXTS, VIEWS, bounded, is_iterable, ticking


def generator_function(function: Callable[..., Any]) -> Callable[..., Generated]:
    """Wrap a generator function of a script, so that the generator itself stays out of reach."""

    def call(*args: Any, **kwargs: Any) -> Generated:
        return Generated(function(*args, **kwargs))

    return _named(call, function)


def returning_generator_function(function: Callable[..., Any]) -> Callable[..., Returning]:
    """Wrap a generator function that returns a value."""

    def call(*args: Any, **kwargs: Any) -> Returning:
        return Returning(function(*args, **kwargs))

    return _named(call, function)


def _named(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    call.__name__ = function.__name__
    call.__qualname__ = function.__qualname__
    call.__module__ = function.__module__
    return call


def _sources(iterables: Iterable[Any]) -> tuple[list[Iterator[Any]], int]:
    iterators = [iter(iterable) for iterable in iterables]
    return iterators, max(map(nesting_above, iterators), default=1)


def pairs(*iterables: Any, strict: bool = False) -> Pairs:
    iterators, nesting = _sources(iterables)
    made = Pairs(*iterators, strict=strict)
    made.nesting = nesting
    return made


def numbered(iterable: Any, start: int = 0) -> Numbered:
    iterator = iter(iterable)
    made = Numbered(iterator, start)
    made.nesting = nesting_above(iterator)
    return made


def mapped(function: Any, *iterables: Any) -> Mapped:
    if not iterables:
        raise TypeError("map() must have at least two arguments.")
    iterators, nesting = _sources(iterables)
    made = Mapped(function, *iterators)
    made.nesting = nesting
    return made


def filtered(function: Any, iterable: Any) -> Generated:
    """filter(): in Python, because it may skip items without end."""
    return Generated(_filter(function, iter(iterable)))


def _filter(function: Any, source: Iterator[Any]) -> Generator[Any, None, None]:
    for item in ticking(source):
        if item if function is None else function(item):
            yield item


_REVERSIBLE = TEXTS | MAPPINGS | VIEWS | {list, tuple, range, Deque}


def backwards(sequence: Any) -> Lazy:
    if type(sequence) not in _REVERSIBLE and type(type(sequence)) is not ScriptClass:
        raise TypeError(f"'{type(sequence).__name__}' object is not reversible")
    return Lazy(reversed(sequence))


def to_iterator(iterable: Any, *sentinel: Any) -> Any:
    """iter(): an iterator of a script's class is its own, everything else is wrapped."""
    if sentinel:
        if not callable(iterable):
            raise TypeError("iter(v, w): v must be callable")
        return Generated(_until(iterable, *sentinel))
    if type(iterable) in ITERATOR_TYPES:
        return iterable
    iterator = iter(iterable)
    if type(iterator) in ITERATOR_TYPES or type(type(iterator)) is ScriptClass:
        return iterator
    return Lazy(iterator)


def _until(function: Callable[[], Any], sentinel: Any) -> Generator[Any, None, None]:
    meter = current_meter()
    while comparable(value := function()) != sentinel:
        if meter.reason is not None or meter.finished:
            meter.fail()
        yield value


def next_item(iterator: Any, *default: Any) -> Any:
    if type(iterator) not in ITERATOR_TYPES and type(type(iterator)) is not ScriptClass:
        raise TypeError(f"'{type(iterator).__name__}' object is not an iterator")
    return next(iterator, *default)


def generated(source: Iterator[Any]) -> Generated:
    """Hide a generator of ours."""
    return Generated(source)  # type: ignore[arg-type]


Shape = tuple[int, tuple[tuple[int, Any], ...]]
"""A target of unpacking: how many targets it has (-1: any number, one has a star), and the shapes of those with one."""


def unpacked(value: Any, shape: Shape) -> list[Any]:
    """Unpack a value for a target with stars inside: C code takes all there is for a star."""
    count, parts = shape
    if not is_iterable(value):
        raise TypeError(f"cannot unpack non-iterable {type(value).__name__} object")
    items = list(bounded(value) if count < 0 else itertools.islice(value, count + 1))
    for at, inner in parts:
        if -len(items) <= at < len(items):
            items[at] = unpacked(items[at], inner)
    return items


def unpacked_each(iterable: Any, shape: Shape) -> Mapped:
    """Unpack each item for the target of a loop."""
    return mapped(lambda item: unpacked(item, shape), iterable)
