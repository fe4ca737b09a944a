"""itertools: lazy where they are lazy, and each step can be stopped."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from picloud.engine.sandbox.attributes import FUNCTION_ATTRIBUTES
from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.containers import Lazy
from picloud.engine.sandbox.iteration import generated
from picloud.engine.sandbox.operators import add
from picloud.engine.sandbox.sizes import bounded, hashable, ticking
from picloud.engine.sandbox.stops import LimitError

MAX_FACTORS: Final = 16
MAX_POOL: Final = 1000


def _lazy(source: Iterable[Any]) -> Any:
    return generated(ticking(iter(source)))


def count(start: Any = 0, step: Any = 1) -> Any:
    return _lazy(itertools.count(start, step))


def repeat(item: Any, times: int | None = None) -> Any:
    return _lazy(itertools.repeat(item) if times is None else itertools.repeat(item, times))


def cycle(items: Iterable[Any]) -> Any:
    return _lazy(itertools.cycle(list(bounded(items))))


def chain(*sources: Iterable[Any]) -> Any:
    return _lazy(itertools.chain.from_iterable(map(Lazy, sources)))


def chain_from(sources: Iterable[Iterable[Any]]) -> Any:
    return _lazy(itertools.chain.from_iterable(Lazy(source) for source in ticking(iter(sources))))


def product(*sources: Iterable[Any], repeat: int = 1) -> Any:
    if repeat * max(1, len(sources)) > MAX_FACTORS:
        raise LimitError(f"product(): more than {MAX_FACTORS} factors")
    return _lazy(itertools.product(*[list(bounded(source)) for source in sources], repeat=repeat))


def _arranged(arrange: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    def apply(items: Iterable[Any], r: int | None = None) -> Any:
        pool = list(bounded(items, MAX_POOL))
        if r is not None and r > MAX_POOL:
            raise LimitError(f"more than {MAX_POOL} items in each arrangement")
        return _lazy(arrange(pool, len(pool) if r is None else r))

    return apply


def islice(items: Iterable[Any], *bounds: int | None) -> Any:
    itertools.islice((), *bounds)  # refuses bounds before it looks at the items
    return _lazy(itertools.islice(ticking(iter(items)), *bounds))


def accumulate(iterable: Iterable[Any], func: Callable[[Any, Any], Any] | None = None, *, initial: Any = None) -> Any:
    return _lazy(itertools.accumulate(Lazy(iterable), add if func is None else func, initial=initial))


def star_map(function: Callable[..., Any], arguments: Iterable[Iterable[Any]]) -> Any:
    return _lazy(function(*bounded(each)) for each in ticking(iter(arguments)))


def filter_false(predicate: Callable[[Any], Any] | None, items: Iterable[Any]) -> Any:
    source = ticking(iter(items))
    return _lazy(item for item in source if not (item if predicate is None else predicate(item)))


def compress(items: Iterable[Any], selectors: Iterable[Any]) -> Any:
    pairs = zip(ticking(iter(items)), ticking(iter(selectors)), strict=False)
    return _lazy(item for item, selected in pairs if selected)


def zip_longest(*sources: Iterable[Any], fillvalue: Any = None) -> Any:
    return _lazy(itertools.zip_longest(*[Lazy(source) for source in sources], fillvalue=fillvalue))


def pairwise(items: Iterable[Any]) -> Any:
    return _lazy(itertools.pairwise(Lazy(items)))


def take_while(predicate: Callable[[Any], Any], items: Iterable[Any]) -> Any:
    return _lazy(itertools.takewhile(predicate, Lazy(items)))


def drop_while(predicate: Callable[[Any], Any], items: Iterable[Any]) -> Any:
    return _lazy(itertools.dropwhile(predicate, ticking(iter(items))))


def group_by(items: Iterable[Any], key: Callable[[Any], Any] | None = None) -> Any:
    """itertools.groupby, each group as a list: the real one's groups share one iterator, which confuses everybody."""
    return _lazy(_groups(iter(items), key))


def _groups(items: Iterator[Any], key: Callable[[Any], Any] | None) -> Iterator[tuple[Any, list[Any]]]:
    group: list[Any] = []
    current: Any = None
    for item in ticking(items):
        value = hashable(item if key is None else key(item))
        if group and comparable(value) != current:
            yield current, group
            group = []
        current = value
        group.append(item)
    if group:
        yield current, group


FUNCTION_ATTRIBUTES[chain] = {"from_iterable": chain_from}

ITERATING: Final[Mapping[str, Mapping[str, Any]]] = {
    "itertools": {
        "count": count,
        "repeat": repeat,
        "cycle": cycle,
        "chain": chain,
        "product": product,
        "permutations": _arranged(itertools.permutations),
        "combinations": _arranged(itertools.combinations),
        "combinations_with_replacement": _arranged(itertools.combinations_with_replacement),
        "islice": islice,
        "accumulate": accumulate,
        "starmap": star_map,
        "filterfalse": filter_false,
        "compress": compress,
        "zip_longest": zip_longest,
        "pairwise": pairwise,
        "takewhile": take_while,
        "dropwhile": drop_while,
        "groupby": group_by,
    },
}
