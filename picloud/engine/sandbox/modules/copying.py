"""copy: of plain data and of objects of the script."""

from __future__ import annotations

from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

from picloud.engine.sandbox.class_model import ScriptClass
from picloud.engine.sandbox.containers import DefaultDict, Deque
from picloud.engine.sandbox.limits import MAX_WALK_NESTING, MAX_WALK_NODES
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.records import Record
from picloud.engine.sandbox.sizes import ATOMS, MAPPINGS, SEQUENCES, hashable, sized_result, spread, walk
from picloud.engine.sandbox.stops import LimitError

_SHARED: Final = ATOMS | {range, type, ScriptClass, FunctionType, BuiltinFunctionType}
"""Types whose values Python does not copy either."""


def copy_value(x: Any) -> Any:
    """copy.copy."""
    kind: Any = type(x)
    if kind in _SHARED or kind is tuple or kind is frozenset or isinstance(x, Record):
        return x
    if kind in MAPPINGS or kind in SEQUENCES:
        return sized_result(spread(x).copy())
    made = _blank(x)
    made.__dict__.update(x.__dict__)
    return made


def _blank(value: Any) -> Any:
    """Return a new object of the value's class, which nothing has set up."""
    kind: Any = type(value)
    meta: Any = type(kind)
    if meta is not ScriptClass or isinstance(value, Exception):
        raise TypeError(f"'{kind.__name__}' object cannot be copied in scripts")
    return object.__new__(kind)


def deep_copy(x: Any) -> Any:
    """copy.deepcopy."""
    return _DeepCopy().of(x, 0)


class _DeepCopy:
    """One deep copy: what is shared stays shared, and what contains itself does so again."""

    def __init__(self) -> None:
        self._copied: dict[int, tuple[Any, Any]] = {}
        """By the id of the original, which is kept so that the id stays its own."""
        self._left = MAX_WALK_NODES
        self._meter = current_meter()

    def of(self, value: Any, depth: int) -> Any:
        kind: Any = type(value)
        if kind in _SHARED or isinstance(value, Record):
            return value
        known = self._copied.get(id(value))
        if known is not None:
            return known[1]
        if depth > MAX_WALK_NESTING:
            raise LimitError(f"the structure is nested deeper than {MAX_WALK_NESTING}")
        if self._meter.reason is not None:
            self._meter.fail()
        if kind in MAPPINGS:
            return self._mapping(value, kind, depth + 1)
        if kind in SEQUENCES:
            return self._sequence(value, kind, depth + 1)
        made = self._keep(value, _blank(value))
        for name, held in self._counted(value.__dict__.items()):
            made.__dict__[name] = self.of(held, depth + 1)
        return made

    def _keep(self, value: Any, made: Any) -> Any:
        self._copied[id(value)] = (value, made)
        return made

    def _counted(self, items: Any) -> list[Any]:
        """Return the items as they are now: comparing keys may call the script."""
        self._left -= len(items)
        if self._left < 0:
            raise LimitError(f"the structure has more than {MAX_WALK_NODES} values")
        return list(items)

    def _mapping(self, value: Any, kind: Any, depth: int) -> Any:
        made = self._keep(value, DefaultDict(value.default_factory) if kind is DefaultDict else kind())
        for key, held in self._counted(value.items()):
            made[hashable(self.of(key, depth))] = self.of(held, depth)
        return sized_result(made)

    def _sequence(self, value: Any, kind: Any, depth: int) -> Any:
        items = self._counted(value)
        if kind is list or kind is Deque:
            made = self._keep(value, Deque(maxlen=value.maxlen) if kind is Deque else [])
            for item in items:
                made.append(self.of(item, depth))
            return sized_result(made)
        copies = [self.of(item, depth) for item in items]
        known = self._copied.get(id(value))
        if known is not None:
            return known[1]
        if kind is tuple:
            same = all(a is b for a, b in zip(items, copies, strict=True))
            return self._keep(value, value if same else sized_result(tuple(copies)))
        made = set()
        for item in copies:
            made.add(hashable(item))
        return self._keep(value, sized_result(made) if kind is set else walk(frozenset(made)))


COPYING: Final[Mapping[str, Mapping[str, Any]]] = {"copy": {"copy": copy_value, "deepcopy": deep_copy}}
