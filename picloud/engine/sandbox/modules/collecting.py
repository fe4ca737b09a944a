"""collections, dataclasses and operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from picloud.engine.sandbox.containers import Counter, DefaultDict, Deque
from picloud.engine.sandbox.dataclass_model import field, script_dataclass, to_dict
from picloud.engine.sandbox.operators import BINARY, add, floor_divide, modulo, multiply
from picloud.engine.sandbox.sizes import MAPPINGS, bounded, comparable, hashable, sized_result, spread
from picloud.engine.sandbox.tables import in_chunks


def counter(items: Any = (), /, **counts: int) -> Counter:
    """collections.Counter: keys are put in by steps, since colliding ones cost quadratic time."""
    if type(items) in MAPPINGS:
        made = Counter(spread(items))
    else:
        made = Counter()
        in_chunks(bounded(items), lambda part: made.update(map(hashable, part)))
    if counts:
        made.update(counts)
    return sized_result(made)  # type: ignore[no-any-return]


def default_dict(factory: Any = None, /, *source: Any, **entries: Any) -> DefaultDict:
    """collections.defaultdict."""
    from picloud.engine.sandbox.builtin_functions import to_dict as make_dict

    if factory is not None and not callable(factory):
        raise TypeError("first argument must be callable or None")
    return DefaultDict(factory, make_dict(*source, **entries))


def deque(items: Iterable[Any] = (), maxlen: int | None = None) -> Deque:
    """collections.deque."""
    return Deque(bounded(items), maxlen)


def item_getter(*keys: Any) -> Callable[[Any], Any]:
    """operator.itemgetter as a closure: the real one reads with the host's rights."""
    if not keys:
        raise TypeError("itemgetter expected 1 argument, got 0")
    checked = [hashable(key) for key in keys]
    if len(checked) == 1:
        key = checked[0]
        return lambda value: value[key]
    return lambda value: tuple([value[key] for key in checked])


def _compare(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: compare(comparable(a), comparable(b))


COLLECTING: Final[Mapping[str, Mapping[str, Any]]] = {
    "collections": {"Counter": counter, "defaultdict": default_dict, "deque": deque},
    "dataclasses": {"dataclass": script_dataclass, "field": field, "asdict": to_dict},
    "operator": {
        "itemgetter": item_getter,
        "add": add,
        "mul": multiply,
        "mod": modulo,
        "floordiv": floor_divide,
        "sub": BINARY["-"],
        "truediv": lambda a, b: a / b,
        "neg": lambda a: -a,
        "not_": lambda a: not a,
        "eq": _compare(lambda a, b: a == b),
        "ne": _compare(lambda a, b: a != b),
        "lt": _compare(lambda a, b: a < b),
        "le": _compare(lambda a, b: a <= b),
        "gt": _compare(lambda a, b: a > b),
        "ge": _compare(lambda a, b: a >= b),
    },
}
