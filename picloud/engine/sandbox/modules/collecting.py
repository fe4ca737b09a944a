"""collections, dataclasses and operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import FrozenInstanceError
from typing import Any, Final

from picloud.engine.sandbox.attributes import dynamic_getattr
from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.containers import Counter, DefaultDict, Deque
from picloud.engine.sandbox.dataclass_model import (
    dataclass_fields_of,
    field,
    is_dataclass,
    replaced,
    script_dataclass,
    to_dict,
    to_values,
)
from picloud.engine.sandbox.named_tuples import named_tuple
from picloud.engine.sandbox.operators import BINARY, add, contains, floor_divide, modulo, multiply, power
from picloud.engine.sandbox.sizes import MAPPINGS, bounded, hashable, sized_result, spread
from picloud.engine.sandbox.tables import in_chunks


def counter(items: Any = (), /, **counts: int) -> Counter:
    """collections.Counter: keys are put in by steps, since colliding ones cost quadratic time."""
    if type(items) in MAPPINGS:
        made = Counter(spread(items))
    elif items is None:
        made = Counter()
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
    made = Deque((), maxlen)  # Python looks at the limit first
    made.extend(bounded(items))
    return made


def item_getter(*keys: Any) -> Callable[[Any], Any]:
    """operator.itemgetter as a closure: the real one reads with the host's rights."""
    if not keys:
        raise TypeError("itemgetter expected 1 argument, got 0")
    checked = [hashable(key) for key in keys]
    if len(checked) == 1:
        key = checked[0]
        return lambda value: value[key]
    return lambda value: tuple([value[key] for key in checked])


def _item(container: Any, key: Any) -> Any:
    return container[hashable(key)]


def attribute_getter(*names: Any) -> Callable[[Any], Any]:
    """operator.attrgetter, through the script's own getattr()."""
    if not names:
        raise TypeError("attrgetter expected 1 argument, got 0")
    if not all(type(name) is str for name in names):
        raise TypeError("attribute name must be a string")
    paths = [name.split(".") for name in names]

    def read(value: Any, path: list[str]) -> Any:
        for name in path:
            value = dynamic_getattr(value, name)
        return value

    if len(paths) == 1:
        return lambda value: read(value, paths[0])
    return lambda value: tuple([read(value, path) for path in paths])


def method_caller(name: Any, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """operator.methodcaller, through the script's own getattr()."""
    if type(name) is not str:
        raise TypeError("method name must be a string")
    return lambda value: dynamic_getattr(value, name)(*args, **kwargs)


def _compare(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: compare(comparable(a), comparable(b))


COLLECTING: Final[Mapping[str, Mapping[str, Any]]] = {
    "collections": {"Counter": counter, "defaultdict": default_dict, "deque": deque, "namedtuple": named_tuple},
    "dataclasses": {
        "dataclass": script_dataclass,
        "field": field,
        "fields": dataclass_fields_of,
        "asdict": to_dict,
        "astuple": to_values,
        "replace": replaced,
        "is_dataclass": is_dataclass,
        "FrozenInstanceError": FrozenInstanceError,
    },
    "operator": {
        "itemgetter": item_getter,
        "attrgetter": attribute_getter,
        "methodcaller": method_caller,
        "add": add,
        "mul": multiply,
        "mod": modulo,
        "floordiv": floor_divide,
        "sub": BINARY["-"],
        "truediv": lambda a, b: a / b,
        "neg": lambda a: -a,
        "pos": lambda a: +a,
        "not_": lambda a: not a,
        "truth": lambda a: bool(a),
        "abs": lambda a: abs(a),
        "is_": lambda a, b: a is b,
        "is_not": lambda a, b: a is not b,
        "pow": power,
        "and_": BINARY["&"],
        "or_": BINARY["|"],
        "xor": BINARY["^"],
        "lshift": BINARY["<<"],
        "rshift": BINARY[">>"],
        "concat": add,
        "contains": lambda a, b: contains(b, a),
        "getitem": _item,
        "eq": _compare(lambda a, b: a == b),
        "ne": _compare(lambda a, b: a != b),
        "lt": _compare(lambda a, b: a < b),
        "le": _compare(lambda a, b: a <= b),
        "gt": _compare(lambda a, b: a > b),
        "ge": _compare(lambda a, b: a >= b),
    },
}
