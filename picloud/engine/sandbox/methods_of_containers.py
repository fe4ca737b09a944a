"""Guarded methods of containers: each takes the container first, then what the method takes."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from picloud.engine.sandbox.builtin_functions import total
from picloud.engine.sandbox.containers import Counter
from picloud.engine.sandbox.iteration import generated
from picloud.engine.sandbox.limits import CHARGE_FROM, MAX_ITEMS
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.operators import expect_counts
from picloud.engine.sandbox.sizes import (
    ATOMS,
    MAPPINGS,
    SETS,
    bounded,
    expect_room,
    hashable,
    sized_result,
    spread,
    ticking,
    walk,
)
from picloud.engine.sandbox.sorting import sorted_list
from picloud.engine.sandbox.tables import in_chunks, put_pairs, to_set


def keyed(method: Callable[..., Any]) -> Callable[..., Any]:
    """Guard a method whose first argument is hashed."""

    def call(container: Any, key: Any, *more: Any) -> Any:
        return method(container, hashable(key) if type(key) is tuple else key, *more)

    return call


def growing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Guard a method whose result may be large."""

    def call(container: Any, *args: Any, **kwargs: Any) -> Any:
        return sized_result(method(spread(container), *args, **kwargs))

    return call


def extend(container: Any, items: Any) -> None:
    if type(items) is list and len(items) + len(container) < CHARGE_FROM // 8:
        container.extend(items)
        return
    items = bounded(items)
    expect_room(container, items)
    container.extend(items)
    sized_result(container)


def extend_left(container: Any, items: Any) -> None:
    items = bounded(items)
    expect_room(container, items)
    container.extendleft(items)
    sized_result(container)


def update_dict(container: Any, source: Any = (), /, **entries: Any) -> None:
    if type(source) in MAPPINGS:
        container.update(spread(source))
    else:
        put_pairs(container, source)
    if entries:
        container.update(entries)
    sized_result(container)


def _counting(name: str) -> Callable[..., None]:
    change = getattr(Counter, name)

    def call(container: Any, source: Any = (), /, **counts: Any) -> None:
        if type(source) in MAPPINGS:
            expect_counts(container)
            change(container, expect_counts(spread(source)))
        elif source is not None:
            in_chunks(bounded(source), lambda part: change(container, map(hashable, part)))
        if counts:
            change(container, counts)
        sized_result(container)

    return call


update_counter = _counting("update")
subtract_counter = _counting("subtract")


def most_common(container: Any, n: Any = None) -> Any:
    walk(container)
    if ATOMS.issuperset(map(type, container.values())):
        return sized_result(container.most_common(min(n, MAX_ITEMS) if type(n) is int else n))
    pairs = sorted_list(container.items(), key=lambda pair: pair[1], reverse=True)
    return pairs if n is None else pairs[: max(0, n)]


def counter_total(container: Any) -> Any:
    return total(container.values())


def counter_elements(container: Any) -> Any:
    return generated(ticking(_elements(container)))


def _elements(container: Any) -> Iterator[Any]:
    for key, times in ticking(iter(container.items())):
        yield from itertools.repeat(key, times)


def update_set(container: Any, *sources: Any) -> None:
    for source in sources:
        if type(source) in SETS:
            container.update(spread(source))
        else:
            in_chunks(bounded(source), lambda part: container.update(map(hashable, part)))
    sized_result(container)


_TAKES_MANY = frozenset(["union", "intersection", "difference", "difference_update", "intersection_update"])
"""Set methods that take any number of others: C code would go through all of them in one go."""


def _found(container: Any, other: Any) -> Iterator[tuple[Any, bool]]:
    """Return what an iterable gives, and whether the set has it, item by item: Python reads no further than needed."""
    for item in ticking(iter(bounded(other))):
        yield item, hashable(item) in container


def _intersection(container: Any, other: Any) -> Any:
    """What is in both, as the other one has it: so Python does with what is no set (2.0 in place of 2)."""
    common: set[Any] = set()
    for item, found in _found(container, other):
        if found:
            common.add(item)
            if len(common) >= len(container):
                break
    return common if type(container) is set else walk(frozenset(common))


def _intersect(container: Any, other: Any) -> None:
    common = _intersection(container, other)
    container.clear()
    container.update(common)


_ITEM_BY_ITEM: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "intersection": _intersection,
    "intersection_update": _intersect,
    "isdisjoint": lambda container, other: not any(found for _, found in _found(container, other)),
    "issuperset": lambda container, other: all(found for _, found in _found(container, other)),
}
"""What Python does with something that is no set."""
if sys.version_info >= (3, 12):
    _ITEM_BY_ITEM["issubset"] = lambda container, other: len(_intersection(container, other)) == len(container)


def set_operation(name: str) -> Callable[..., Any]:
    """Guard a method that takes other sets; what is not one is made one in stoppable steps."""

    def call(container: Any, *others: Any) -> Any:
        if len(others) != 1 and name not in _TAKES_MANY:
            return getattr(container, name)(*others)  # says what it needs
        if name in _ITEM_BY_ITEM and len(others) == 1 and type(others[0]) not in SETS:
            return _ITEM_BY_ITEM[name](spread(container), others[0])
        sets = [spread(other) if type(other) in SETS else to_set(other) for other in others]
        result = sized_result(getattr(spread(container), name)(*sets))
        return walk(result) if type(result) is frozenset else result

    def call_each(container: Any, *others: Any) -> Any:
        if len(others) <= 1:
            return call(container, *others)
        meter = current_meter()
        result = None
        for other in others:
            result = call(container, other)
            container = container if result is None else result
            if meter.reason is not None:
                meter.fail()
        return result

    return call_each if name in _TAKES_MANY else call
