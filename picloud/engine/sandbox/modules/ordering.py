"""heapq and bisect in Python: every comparison is guarded, and a script's __lt__ may change the list meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from picloud.engine.sandbox.class_model import ScriptClass
from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.containers import DefaultDict, Deque
from picloud.engine.sandbox.iteration import generated
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.operators import take_slice
from picloud.engine.sandbox.sizes import SIZED, bounded, ticking
from picloud.engine.sandbox.sorting import sorted_list
from picloud.engine.sandbox.stops import LimitError
from picloud.engine.sandbox.text import said_type

MAX_MERGED: Final = 1000
Key = Callable[[Any], Any] | None


def _less(a: Any, b: Any) -> Any:
    return comparable(a) < b


# heapq: item `n` is not larger than items `2n + 1` and `2n + 2`.


def _expect_list(heap: Any, function: str, place: str = " 1") -> list[Any]:
    if type(heap) is not list:
        raise TypeError(f"{function}() argument{place} must be list, not {said_type(heap)}")
    return heap


def _rise(heap: list[Any], top: int, at: int) -> None:
    """Move an item up, not above `top`, until its parent is not larger."""
    item = heap[at]
    while at > top:
        above = (at - 1) >> 1
        parent = heap[above]
        if not _less(item, parent):
            break
        heap[at] = parent
        at = above
    heap[at] = item


def _sink(heap: list[Any], at: int) -> None:
    """Move an item to the bottom along the smaller children, and from there up to its place, as Python does."""
    top, end = at, len(heap)
    item = heap[at]
    while (child := 2 * at + 1) < end:
        right = child + 1
        if right < end and not _less(heap[child], heap[right]):
            child = right
        heap[at] = heap[child]
        at = child
    heap[at] = item
    _rise(heap, top, at)


def push(heap: Any, item: Any, /) -> None:
    """heapq.heappush."""
    _expect_list(heap, "heappush").append(item)
    _rise(heap, 0, len(heap) - 1)


def pop(heap: Any, /) -> Any:
    """heapq.heappop."""
    if not _expect_list(heap, "heappop", ""):
        raise IndexError("index out of range")
    last = heap.pop()
    if not heap:
        return last
    first, heap[0] = heap[0], last
    _sink(heap, 0)
    return first


def replace(heap: Any, item: Any, /) -> Any:
    """heapq.heapreplace."""
    if not _expect_list(heap, "heapreplace"):
        raise IndexError("index out of range")
    first, heap[0] = heap[0], item
    _sink(heap, 0)
    return first


def push_and_pop(heap: Any, item: Any, /) -> Any:
    """heapq.heappushpop."""
    return replace(heap, item) if _expect_list(heap, "heappushpop") and _less(heap[0], item) else item


def heapify(heap: Any, /) -> None:
    """heapq.heapify."""
    meter = current_meter()
    for at in reversed(range(len(_expect_list(heap, "heapify", "")) // 2)):
        if meter.reason is not None:
            meter.fail()
        _sink(heap, at)


def largest(n: Any, iterable: Iterable[Any], key: Key = None) -> Any:
    """heapq.nlargest."""
    return _first(n, iterable, key, reverse=True)


def smallest(n: Any, iterable: Iterable[Any], key: Key = None) -> Any:
    """heapq.nsmallest."""
    return _first(n, iterable, key, reverse=False)


def _first(n: Any, items: Iterable[Any], key: Key, *, reverse: bool) -> Any:
    if n <= 0:
        iter(items)  # says what it needs
        return []
    if key is not None and type(items) not in SIZED:
        # Python asks for an item's key before it reads the next
        keyed = [(key(item), item) for item in bounded(items)]
        first = take_slice(sorted_list(keyed, key=lambda pair: pair[0], reverse=reverse), None, n, None)
        return [item for _, item in first]
    return take_slice(sorted_list(items, key=key, reverse=reverse), None, n, None)


def merge(*iterables: Iterable[Any], key: Key = None, reverse: bool = False) -> Any:
    """heapq.merge."""
    if len(iterables) > MAX_MERGED:
        raise LimitError(f"merge() takes at most {MAX_MERGED} iterables")
    return generated(ticking(_merged([iter(source) for source in iterables], key, bool(reverse))))


def _merged(sources: list[Iterator[Any]], key: Key, reverse: bool) -> Iterator[Any]:
    heads = [head for source in sources for head in _head(source, key)]
    while heads:
        first = heads[0]
        for other in heads[1:]:
            if _less(first[0], other[0]) if reverse else _less(other[0], first[0]):
                first = other
        yield first[1]
        at = next(at for at, head in enumerate(heads) if head is first)
        heads[at : at + 1] = _head(first[2], key)


def _head(source: Iterator[Any], key: Key) -> list[tuple[Any, Any, Iterator[Any]]]:
    for item in source:
        return [(item if key is None else key(item), item, source)]
    return []


# bisect.


def _searching(*, right: bool) -> Callable[..., int]:
    def search(a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None) -> int:
        if lo < 0:
            raise ValueError("lo must be non-negative")
        if type(a) is dict or type(a) is DefaultDict:
            raise TypeError(f"{type(a).__name__} is not a sequence")
        low, high = lo, len(a) if hi is None else hi
        if sys.version_info >= (3, 12) and not hasattr(type(a), "__getitem__"):
            raise TypeError(f"'{type(a).__name__}' object does not support indexing")
        while low < high:
            middle = (low + high) // 2
            item = a[middle] if key is None else key(a[middle])
            before = not _less(x, item) if right else _less(item, x)
            if before:
                low = middle + 1
            else:
                high = middle
        return low

    search.__name__ = "bisect_right" if right else "bisect_left"
    return search


bisect_left: Final = _searching(right=False)
bisect_right: Final = _searching(right=True)


def _inserting(search: Callable[..., int]) -> Callable[..., None]:
    def insert(a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None) -> None:
        kind: Any = type(a)
        if kind is not list and kind is not Deque and type(kind) is not ScriptClass:
            raise TypeError(f"insort needs a list, not {kind.__name__}")
        place = search(a, x if key is None else key(x), lo, hi, key=key)
        a.insert(place, x)

    insert.__name__ = search.__name__.replace("bisect", "insort")
    return insert


ORDERING: Final[Mapping[str, Mapping[str, Any]]] = {
    "heapq": {
        "heappush": push,
        "heappop": pop,
        "heapreplace": replace,
        "heappushpop": push_and_pop,
        "heapify": heapify,
        "nlargest": largest,
        "nsmallest": smallest,
        "merge": merge,
    },
    "bisect": {
        "bisect": bisect_right,
        "bisect_left": bisect_left,
        "bisect_right": bisect_right,
        "insort": _inserting(bisect_right),
        "insort_left": _inserting(bisect_left),
        "insort_right": _inserting(bisect_right),
    },
}
