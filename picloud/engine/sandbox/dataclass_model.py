"""@dataclass for scripts: the standard one writes source text and executes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any, ClassVar, Final

from picloud.engine.sandbox.class_model import SHOWN, ScriptClass
from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.containers import Counter, DefaultDict
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.modules.copying import deep_copy
from picloud.engine.sandbox.sizes import ATOMS, MAPPINGS, dataclass_fields, hashable, walk
from picloud.engine.sandbox.text import to_repr

_MISSING: Final = object()
_OPTIONS: Final = frozenset(["init", "repr", "eq", "order", "frozen", "slots", "kw_only"])
_SHOWN: Final = SHOWN["object"]
_COMPARISONS: Final = ("__lt__", "__le__", "__gt__", "__ge__")


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field of a dataclass: what field(...) gives; its place in the class adds the name.

    It is equal to itself only: comparing defaults would visit values of the script in C.
    """

    default: Any = _MISSING
    default_factory: Any = _MISSING
    init: bool = True
    repr: bool = True
    hash: bool | None = None
    compare: bool = True
    metadata: Any = None
    kw_only: bool | None = None
    name: str = ""
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"name", "init", "repr", "compare", "metadata", "kw_only"})

    @property
    def optional(self) -> bool:
        return self.default is not _MISSING or self.default_factory is not _MISSING

    def value(self) -> Any:
        """Return what the field holds without an argument."""
        return self.default_factory() if self.default_factory is not _MISSING else self.default


def field(
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    init: bool = True,
    repr: bool = True,  # noqa: A002
    hash: bool | None = None,  # noqa: A002
    compare: bool = True,
    metadata: Any = None,
    kw_only: bool | None = None,
) -> Field:
    """dataclasses.field for scripts."""
    if default is not _MISSING and default_factory is not _MISSING:
        raise ValueError("cannot specify both default and default_factory")
    return Field(default, default_factory, init, repr, hash, compare, metadata, kw_only)


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of one dataclass, or of one named tuple, in order."""

    name: str
    fields: dict[str, Field]

    def names(self, wanted: Callable[[Field], bool | None]) -> tuple[str, ...]:
        return tuple([name for name, one in self.fields.items() if wanted(one)])


def script_dataclass(cls: Any = None, /, **options: Any) -> Any:
    """Give a class of a script __init__, __repr__, __eq__ (and __lt__ …, __hash__ where asked for) from its fields."""
    unknown = set(options) - _OPTIONS
    if unknown:
        raise TypeError(f"dataclass() got an unexpected keyword argument '{min(unknown)}'")

    def decorate(kind: Any) -> Any:
        if type(kind) is not ScriptClass:
            raise TypeError("dataclass needs a class")
        shape = _shape(kind, bool(options.get("kw_only")))
        _add_methods(kind, shape, options)
        type.__setattr__(kind, "_dataclass_", tuple(shape.fields))
        type.__setattr__(kind, "_shape_", shape)
        if options.get("frozen"):
            type.__setattr__(kind, "__setattr__", _refuse_assignment)
            type.__setattr__(kind, "__delattr__", _refuse_deletion)
        return kind

    return decorate if cls is None else decorate(cls)


def _add_methods(kind: Any, shape: Shape, options: Mapping[str, Any]) -> None:
    eq, order = options.get("eq", True), options.get("order")
    if order and not eq:
        raise ValueError("eq must be true if order is true")
    methods: dict[str, Callable[..., Any]] = {}
    if options.get("init", True):
        methods["__init__"] = initializer(shape)
    if options.get("repr", True):
        methods["__repr__"] = representer(shape.names(lambda one: one.repr))
    compared = shape.names(lambda one: one.compare)
    if eq:
        methods["__eq__"] = _equality(compared)
    if order:
        methods |= _ordering(compared)
        for name in _COMPARISONS:
            if name in kind.__dict__:
                where = f"attribute {name} in class {kind.__name__}"
                raise TypeError(f"Cannot overwrite {where}. Consider using functools.total_ordering")
    for name, method in methods.items():
        # Python replaces an __init__ that the class defines, and keeps what else it defines
        if kind.__dict__.get(name, _SHOWN) is _SHOWN or name == "__init__":
            method.__name__ = name
            method.__qualname__ = f"{kind.__qualname__}.{name}"
            type.__setattr__(kind, name, method)
    if eq:
        hashed = shape.names(lambda one: one.compare if one.hash is None else one.hash)
        type.__setattr__(kind, "__hash__", hasher(hashed) if options.get("frozen") else None)


def _shape(kind: Any, kw_only: bool) -> Shape:
    fields: dict[str, Field] = {}
    for base in reversed(kind.__mro__[1:]):
        inherited = base.__dict__.get("_shape_")
        if inherited is not None:
            fields |= inherited.fields
    for name in kind.__dict__.get("_fields_", ()):
        given = getattr(kind, name, _MISSING)
        one = given if type(given) is Field else Field(given)
        if type(one.default) in (list, dict, set):
            raise ValueError(
                f"mutable default {type(one.default)} for field {name} is not allowed: use default_factory"
            )
        fields[name] = replace(one, name=name, kw_only=kw_only if one.kw_only is None else one.kw_only)
        if type(given) is Field:
            if one.default is _MISSING:
                type.__delattr__(kind, name)
            else:
                type.__setattr__(kind, name, one.default)
    needed = True
    for name, one in fields.items():
        if one.init and not one.kw_only:
            if not needed and not one.optional:
                raise TypeError(f"non-default argument '{name}' follows default argument")
            needed = needed and not one.optional
    return Shape(kind.__qualname__, fields)


def initializer(shape: Shape, method: str = "__init__") -> Callable[..., None]:
    """Return an __init__ for the fields; its errors name `method`."""
    fields = tuple(shape.fields.values())
    known = frozenset(shape.names(lambda one: one.init))
    positional = shape.names(lambda one: one.init and not one.kw_only)
    least = sum(not shape.fields[name].optional for name in positional)
    title = f"{shape.name}.{method}()"

    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        values = dict(zip(positional, args, strict=False))
        for name, value in kwargs.items():
            if name not in known:
                raise TypeError(f"{title} got an unexpected keyword argument '{name}'")
            if name in values:
                raise TypeError(f"{title} got multiple values for argument '{name}'")
            values[name] = value
        if len(args) > len(positional):
            raise TypeError(f"{title} takes {_count(least + 1, len(positional) + 1)} but {len(args) + 1} were given")
        missing = [one for one in fields if one.init and not one.optional and one.name not in values]
        if missing:
            raise TypeError(f"{title} missing {_listed(missing)}")
        for one in fields:
            if one.name in values:
                object.__setattr__(self, one.name, values[one.name])
            elif one.init or one.default_factory is not _MISSING:
                object.__setattr__(self, one.name, one.value())

    return initialize


def _count(least: int, most: int) -> str:
    """What Python says of the number of positional arguments."""
    noun = "argument" if most == 1 else "arguments"
    return f"{most} positional {noun}" if least == most else f"from {least} to {most} positional {noun}"


def _listed(missing: list[Field]) -> str:
    """What Python says of missing arguments: the positional ones first."""
    named = [one for one in missing if not one.kw_only] or missing
    kind = "keyword-only" if named[0].kw_only else "positional"
    names = [f"'{one.name}'" for one in named]
    text = names[0] if len(names) == 1 else " and ".join(names) if len(names) == 2 else None
    text = text or ", ".join(names[:-1]) + f", and {names[-1]}"
    return f"{len(names)} required {kind} argument{'s' if len(names) > 1 else ''}: {text}"


def representer(names: tuple[str, ...]) -> Callable[[Any], str]:
    """Return a __repr__ that shows these fields."""

    def represent(self: Any) -> str:
        current_meter().check()
        return f"{type(self).__qualname__}({', '.join([f'{name}={to_repr(getattr(self, name))}' for name in names])})"

    return represent


def _equality(names: tuple[str, ...]) -> Callable[[Any, Any], Any]:
    def equals(self: Any, other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        current_meter().check()
        # as items of tuples: what is identical is equal
        return all((comparable(getattr(self, name)),) == (getattr(other, name),) for name in names)

    return equals


def _ordering(names: tuple[str, ...]) -> dict[str, Callable[[Any, Any], Any]]:
    def compare(sign: str) -> Callable[[Any, Any], Any]:
        def ordered(self: Any, other: Any) -> Any:
            if type(other) is not type(self):
                return NotImplemented
            mine = comparable(tuple([getattr(self, name) for name in names]))
            theirs = tuple([getattr(other, name) for name in names])
            return getattr(mine, sign)(theirs)

        return ordered

    return {sign: compare(sign) for sign in _COMPARISONS}


def hasher(names: tuple[str, ...]) -> Callable[[Any], int]:
    """Return a __hash__ of these fields."""

    def hash_fields(self: Any) -> int:
        current_meter().check()
        return hash(hashable(tuple([getattr(self, name) for name in names])))

    return hash_fields


def _refuse_assignment(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field '{name}'")


def _refuse_deletion(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field '{name}'")


def to_dict(obj: Any) -> Any:
    """dataclasses.asdict for scripts."""
    if _instance_fields(obj) is None:
        raise TypeError("asdict() should be called on dataclass instances")
    return _converted(walk(obj), dict)


def _instance_fields(value: Any) -> tuple[str, ...] | None:
    return dataclass_fields(type(value)) if type(type(value)) is ScriptClass else None


def to_values(obj: Any) -> Any:
    """dataclasses.astuple for scripts."""
    if _instance_fields(obj) is None:
        raise TypeError("astuple() should be called on dataclass instances")
    return _converted(walk(obj), lambda pairs: tuple([value for _, value in pairs]))


def _converted(value: Any, build: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    """Return a copy, in which what `build` makes of their fields stands for dataclass instances."""
    names = _instance_fields(value)
    if names is not None:
        return build([(name, _converted(getattr(value, name), build)) for name in names])
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is list or kind is tuple:
        return kind([_converted(item, build) for item in value])
    if kind not in MAPPINGS:
        return deep_copy(value)
    pairs = [(_converted(key, build), _converted(item, build)) for key, item in list(value.items())]
    if kind is Counter:
        return Counter([hashable(pair) for pair in pairs])  # counts pairs, as Python does
    made: dict[Any, Any] = DefaultDict(value.default_factory) if kind is DefaultDict else {}
    for key, item in pairs:
        made[hashable(key)] = item
    return made


def is_dataclass(obj: Any) -> bool:
    """dataclasses.is_dataclass for scripts."""
    return _shape_of(obj) is not None


def _shape_of(value: Any) -> Shape | None:
    kind = value if type(value) is ScriptClass else type(value)
    shape = getattr(kind, "_shape_", None) if type(kind) is ScriptClass else None
    return shape if type(shape) is Shape else None


def dataclass_fields_of(class_or_instance: Any) -> tuple[Field, ...]:
    """dataclasses.fields for scripts."""
    shape = _shape_of(class_or_instance)
    if shape is None:
        raise TypeError("must be called with a dataclass type or instance")
    return tuple(shape.fields.values())


def replaced(obj: Any, /, **changes: Any) -> Any:
    """dataclasses.replace for scripts: as if the class were called again."""
    shape = _shape_of(obj)
    if shape is None or type(obj) is ScriptClass:
        raise TypeError("replace() should be called on dataclass instances")
    for name, one in shape.fields.items():
        if not one.init:
            if name in changes:
                error = TypeError if sys.version_info >= (3, 13) else ValueError
                raise error(f"field {name} is declared with init=False, it cannot be specified with replace()")
        elif name not in changes:
            changes[name] = getattr(obj, name)
    return type(obj)(**changes)
