"""collections.namedtuple for scripts: a class of the script's kind with fields, which behaves as a tuple does.

It is none: a subclass of tuple would slip past every guard that looks at the exact type.
"""

from __future__ import annotations

import keyword
import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

from picloud.engine.sandbox.class_model import SCRIPT_MODULE, ScriptClass
from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.dataclass_model import Field, Shape, hasher, initializer, representer
from picloud.engine.sandbox.limits import MAX_NAME
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.operators import contains
from picloud.engine.sandbox.sizes import bounded
from picloud.engine.sandbox.stops import LimitError

MAX_FIELDS: Final = 200
_COMPARISONS: Final = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


def named_tuple(typename: Any, field_names: Any, *, defaults: Any = ()) -> Any:
    """collections.namedtuple."""
    if type(field_names) is str and len(field_names) <= MAX_FIELDS * MAX_NAME:
        field_names = field_names.replace(",", " ").split()
    names = tuple(bounded(field_names, MAX_FIELDS))
    for name in (typename, *names):
        if type(name) is not str or not name.isidentifier() or keyword.iskeyword(name) or name[0] == "_":
            raise ValueError("the name and the field names must be identifiers, without a '_' in front")
        if len(name) > MAX_NAME:
            raise LimitError(f"a name of a named tuple is longer than {MAX_NAME} characters")
    if len(names) > MAX_FIELDS or len(set(names)) != len(names):
        raise ValueError(f"the field names must differ, and be at most {MAX_FIELDS}")
    values = tuple(bounded(defaults or (), MAX_FIELDS))
    if len(values) > len(names):
        raise TypeError("Got more default values than field names")
    late = dict(zip(names[len(names) - len(values) :], values, strict=True))
    fields = {name: Field(late[name], name=name) if name in late else Field(name=name) for name in names}
    kind: Any = ScriptClass(typename, (), {"__module__": SCRIPT_MODULE, "__qualname__": typename})
    methods = {
        "__init__": initializer(Shape(typename, fields), "__new__"),
        "__repr__": representer(names),
        "__hash__": hasher(names),
        **_sequence_methods(names),
    }
    for name, method in methods.items():
        type.__setattr__(kind, name, method)
    type.__setattr__(kind, "_dataclass_", names)  # so that walks go into the fields
    type.__setattr__(kind, "_named_", names)
    return kind


def named_values(value: Any) -> tuple[Any, ...] | None:
    """Return the parts of a named tuple, None for all else."""
    kind: Any = type(value)
    names = getattr(kind, "_named_", None) if type(kind) is ScriptClass else None
    return None if type(names) is not tuple else tuple([value.__dict__.get(name) for name in names])


def _sequence_methods(names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    def values(self: Any) -> tuple[Any, ...]:
        return tuple([self.__dict__.get(name) for name in names])

    def iterate(self: Any) -> Iterator[Any]:
        return iter(values(self))

    def count(self: Any) -> int:
        return len(names)

    def item(self: Any, index: Any) -> Any:
        return values(self)[index]

    def holds(self: Any, wanted: Any) -> bool:
        return contains(wanted, values(self))

    def refuse(self: Any, name: str, value: Any = None) -> None:
        raise AttributeError("can't set attribute")

    return {
        "__iter__": iterate,
        "__len__": count,
        "__getitem__": item,
        "__contains__": holds,
        "__setattr__": refuse,
        "__delattr__": refuse,
        **{sign: _comparison(sign, values) for sign in _COMPARISONS},
    }


def _comparison(sign: str, values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], Any]:
    compare = getattr(operator, sign)

    def apply(self: Any, other: Any) -> Any:
        theirs = other if type(other) is tuple else named_values(other)
        if theirs is None:
            return NotImplemented
        current_meter().check()
        return compare(comparable(values(self)), theirs)

    return apply
