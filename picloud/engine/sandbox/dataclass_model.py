"""@dataclass for scripts: the standard one writes source text and executes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from picloud.engine.sandbox.class_model import ScriptClass
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import comparable, dataclass_fields, hashable, walk
from picloud.engine.sandbox.text import to_repr

_MISSING: Final = object()
_OPTIONS: Final = frozenset(["init", "repr", "eq", "order", "frozen", "slots", "kw_only"])


class FieldDefault:
    """What field(...) gives: a default or a function that makes one."""

    __slots__ = ("default", "factory")
    _sandbox_attrs_: frozenset[str] = frozenset()

    def __init__(self, default: Any, factory: Any) -> None:
        self.default = default
        self.factory = factory


def field(*, default: Any = _MISSING, default_factory: Any = None, **ignored: Any) -> FieldDefault:
    """dataclasses.field for scripts; other options are accepted and have no effect."""
    return FieldDefault(default, default_factory)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The fields of one dataclass in order, with their defaults."""

    name: str
    fields: tuple[str, ...]
    defaults: dict[str, Any]
    kw_only: bool


def script_dataclass(cls: Any = None, /, **options: Any) -> Any:
    """Give a class of a script __init__, __repr__, __eq__ (and __lt__ …, __hash__ where asked for) from its fields."""
    unknown = set(options) - _OPTIONS
    if unknown:
        raise TypeError(f"dataclass() got an unexpected keyword argument '{min(unknown)}'")

    def decorate(kind: Any) -> Any:
        if type(kind) is not ScriptClass:
            raise TypeError("dataclass needs a class")
        shape = _shape(kind, bool(options.get("kw_only")))
        methods: dict[str, Callable[..., Any]] = {}
        if options.get("init", True):
            methods["__init__"] = _initializer(shape)
        if options.get("repr", True):
            methods["__repr__"] = _representer(shape)
        if options.get("eq", True):
            methods["__eq__"] = _equality(kind, shape)
        if options.get("order"):
            methods |= _ordering(kind, shape)
        for name, method in methods.items():
            if name not in kind.__dict__:
                method.__name__ = name
                method.__qualname__ = f"{kind.__name__}.{name}"
                type.__setattr__(kind, name, method)
        if options.get("eq", True):
            type.__setattr__(kind, "__hash__", _hasher(shape) if options.get("frozen") else None)
        type.__setattr__(kind, "_dataclass_", shape.fields)
        type.__setattr__(kind, "_defaults_", shape.defaults)
        if options.get("frozen"):
            type.__setattr__(kind, "__setattr__", _refuse_assignment)
            type.__setattr__(kind, "__delattr__", _refuse_assignment)
        return kind

    return decorate if cls is None else decorate(cls)


def _shape(kind: Any, kw_only: bool) -> _Shape:
    fields: dict[str, None] = {}
    defaults: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if type(base) is not ScriptClass:
            continue
        fields.update(dict.fromkeys(base.__dict__.get("_fields_", ())))
        for name in fields:
            if name in base.__dict__:
                defaults[name] = base.__dict__[name]
        defaults |= base.__dict__.get("_defaults_", {})
    needed = True
    for name in fields:
        default = defaults.get(name, _MISSING)
        if type(default) in (list, dict, set):
            raise ValueError(f"mutable default {type(default)} for field {name} is not allowed: use default_factory")
        if isinstance(default, FieldDefault):
            if default.default is _MISSING:
                if name in kind.__dict__:
                    type.__delattr__(kind, name)
            else:
                type.__setattr__(kind, name, default.default)
        has_default = default is not _MISSING and not (
            isinstance(default, FieldDefault) and default.default is _MISSING and default.factory is None
        )
        if not needed and not has_default and not kw_only:
            raise TypeError(f"non-default argument '{name}' follows default argument")
        needed = needed and not has_default
    return _Shape(kind.__name__, tuple(fields), defaults, kw_only)


def _initializer(shape: _Shape) -> Callable[..., None]:
    fields, defaults = shape.fields, shape.defaults
    positional = 0 if shape.kw_only else len(fields)

    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > positional:
            raise TypeError(
                f"{shape.name}.__init__() takes {positional + 1} positional arguments but {len(args) + 1} were given"
            )
        values = dict(zip(fields, args, strict=False))
        for name, value in kwargs.items():
            if name not in fields:
                raise TypeError(f"{shape.name}.__init__() got an unexpected keyword argument '{name}'")
            if name in values:
                raise TypeError(f"{shape.name}.__init__() got multiple values for argument '{name}'")
            values[name] = value
        for name in fields:
            value = values.get(name, _MISSING)
            if value is _MISSING:
                value = _default(shape, defaults.get(name, _MISSING), name)
            object.__setattr__(self, name, value)

    return initialize


def _default(shape: _Shape, default: Any, name: str) -> Any:
    if isinstance(default, FieldDefault):
        if default.factory is not None:
            return default.factory()
        default = default.default
    if default is _MISSING:
        raise TypeError(f"{shape.name}.__init__() missing 1 required positional argument: '{name}'")
    return default


def _representer(shape: _Shape) -> Callable[[Any], str]:
    def represent(self: Any) -> str:
        current_meter().check()
        return (
            f"{type(self).__name__}({', '.join([f'{name}={to_repr(getattr(self, name))}' for name in shape.fields])})"
        )

    return represent


def _equality(kind: Any, shape: _Shape) -> Callable[[Any, Any], Any]:
    def equals(self: Any, other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        current_meter().check()
        return all(comparable(getattr(self, name)) == getattr(other, name) for name in shape.fields)

    return equals


def _ordering(kind: Any, shape: _Shape) -> dict[str, Callable[[Any, Any], Any]]:
    def compare(sign: str) -> Callable[[Any, Any], Any]:
        def ordered(self: Any, other: Any) -> Any:
            if type(other) is not type(self):
                return NotImplemented
            mine = comparable(tuple([getattr(self, name) for name in shape.fields]))
            theirs = tuple([getattr(other, name) for name in shape.fields])
            return getattr(mine, sign)(theirs)

        return ordered

    return {sign: compare(sign) for sign in ("__lt__", "__le__", "__gt__", "__ge__")}


def _hasher(shape: _Shape) -> Callable[[Any], int]:
    def hash_fields(self: Any) -> int:
        current_meter().check()
        return hash(hashable(tuple([getattr(self, name) for name in shape.fields])))

    return hash_fields


def _refuse_assignment(self: Any, name: str, *value: Any) -> None:
    raise AttributeError(f"cannot assign to field '{name}'")


def to_dict(value: Any) -> Any:
    """dataclasses.asdict for scripts."""
    return _plain(walk(value))


def _plain(value: Any) -> Any:
    names = dataclass_fields(type(value)) if type(type(value)) is ScriptClass else None
    if names is not None:
        return {name: _plain(getattr(value, name)) for name in names}
    if type(value) in (list, tuple):
        return type(value)([_plain(item) for item in value])
    if type(value) is dict:
        return {key: _plain(item) for key, item in value.items()}
    return value
