"""Which attributes scripts may read, per exact type: everything else does not exist for them.

A table entry is DIRECT (the attribute itself is harmless), or a function that takes the value first and guards one
method.
"""

from __future__ import annotations

import datetime
import uuid
import zoneinfo
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final, NoReturn

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

from picloud.engine.sandbox import decimals
from picloud.engine.sandbox import methods_of_containers as containers
from picloud.engine.sandbox import methods_of_texts as texts
from picloud.engine.sandbox.class_model import EXCEPTION_ATTRIBUTES, ScriptClass, script_defines
from picloud.engine.sandbox.containers import Counter, DefaultDict, Deque
from picloud.engine.sandbox.decimals import Decimal
from picloud.engine.sandbox.facade import Facade
from picloud.engine.sandbox.operators import writable
from picloud.engine.sandbox.searching import searching
from picloud.engine.sandbox.sorting import sort_list
from picloud.engine.sandbox.templates import format_mapping, format_text
from picloud.engine.sandbox.text import decode, encode, error_arguments, format_date, parse_date

DIRECT: Final = None
Method = Callable[..., Any] | None


def direct(names: str) -> dict[str, Method]:
    return dict.fromkeys(names.split(), DIRECT)


def _of_moment(name: str) -> Method:
    """Guard a method of ZoneInfo, which would read whatever it is given."""
    method = getattr(zoneinfo.ZoneInfo, name)

    def apply(zone: zoneinfo.ZoneInfo, moment: Any, /) -> Any:
        if moment is not None and type(moment) is not datetime.datetime:
            raise TypeError(f"{name}() needs a datetime")
        return method(zone, moment)

    return apply


_COMMON_TEXT: Final[dict[str, Method]] = {
    **direct("find index count isalnum isalpha isascii isdigit islower isspace istitle isupper"),
    **texts.PADDING, **texts.GROWING, **texts.BACKWARDS, **texts.STRIPPING, **texts.ENDS, **texts.SPLITTING,
    "replace": texts.replace, "join": texts.join, "expandtabs": texts.expand_tabs,
    "split": texts.split, "rsplit": texts.split_from_end, "splitlines": texts.split_lines,
}  # fmt: skip
_SET_READS: Final[dict[str, Method]] = {
    name: containers.set_operation(name)
    for name in "union intersection difference symmetric_difference issubset issuperset isdisjoint".split()
}
_DICT: Final[dict[str, Method]] = {
    **direct("keys values items clear popitem"),
    **{name: containers.keyed(getattr(dict, name)) for name in ("get", "pop", "setdefault")},
    "copy": containers.growing(dict.copy),
    "update": containers.update_dict,
}
_DATE_PARTS = "year month day isoformat weekday isoweekday replace toordinal isocalendar ctime"

ATTRIBUTES: Final[dict[type, Mapping[str, Method]]] = {
    str: {
        **{name: guard for name, guard in _COMMON_TEXT.items() if name != "hex"},
        **direct("isdecimal isidentifier isnumeric isprintable"),
        "encode": encode, "translate": texts.translate, "format": format_text, "format_map": format_mapping,
    },
    bytes: {
        **{name: guard for name, guard in _COMMON_TEXT.items() if name != "casefold"},
        "decode": decode,
    },
    int: {
        **direct("bit_length bit_count as_integer_ratio conjugate is_integer numerator denominator"),
        "to_bytes": texts.int_to_bytes,
    },
    float: direct("is_integer hex as_integer_ratio"),
    list: {
        **direct("append pop clear reverse insert"),
        **{name: searching(list, name) for name in ("index", "count", "remove")},
        "copy": containers.growing(list.copy), "extend": containers.extend, "sort": sort_list,
    },
    tuple: {name: searching(tuple, name) for name in ("index", "count")},
    dict: _DICT,
    set: {
        **direct("clear pop"), **_SET_READS,
        **{name: containers.keyed(getattr(set, name)) for name in ("add", "discard", "remove")},
        **{
            name: containers.set_operation(name)
            for name in ("difference_update", "intersection_update", "symmetric_difference_update")
        },
        "copy": containers.growing(set.copy), "update": containers.update_set,
    },
    frozenset: {**direct("copy"), **_SET_READS},
    Deque: {
        **direct("append appendleft pop popleft clear rotate maxlen reverse insert"),
        **{name: searching(Deque, name) for name in ("index", "count", "remove")},
        "copy": containers.growing(Deque.copy), "extend": containers.extend, "extendleft": containers.extend_left,
    },
    DefaultDict: {**_DICT, **direct("default_factory"), "copy": containers.growing(DefaultDict.copy)},
    Counter: {
        **_DICT, "copy": containers.growing(Counter.copy), "update": containers.update_counter,
        "subtract": containers.subtract_counter, "most_common": containers.most_common,
        "total": containers.counter_total, "elements": containers.counter_elements,
    },
    datetime.datetime: {
        **direct(_DATE_PARTS),
        **direct("hour minute second microsecond tzinfo fold date time timetz timestamp astimezone"),
        **direct("utcoffset tzname dst"),
        "strftime": format_date,
    },
    datetime.date: {**direct(_DATE_PARTS), "strftime": format_date},
    datetime.time: {**direct("hour minute second microsecond tzinfo fold isoformat replace"), "strftime": format_date},
    datetime.timedelta: direct("days seconds microseconds total_seconds"),
    datetime.timezone: direct("utcoffset tzname dst"),
    zoneinfo.ZoneInfo: {**direct("key"), **{name: _of_moment(name) for name in ("utcoffset", "tzname", "dst")}},
    Decimal: direct(
        "is_nan is_finite is_infinite is_signed is_zero sqrt quantize copy_abs copy_negate normalize to_integral_value"
        " compare adjusted copy_sign max min same_quantum to_integral_exact as_integer_ratio"
    ) | {"as_tuple": decimals.parts},
    property: direct("setter getter deleter"),
    uuid.UUID: direct("hex int version bytes urn variant"),
}  # fmt: skip
ATTRIBUTES[bool] = ATTRIBUTES[int]
"""Instances. Types of optional packages are added where they are wrapped (re.Match)."""

CLASS_ATTRIBUTES: Final[dict[type, frozenset[str]]] = {
    datetime.datetime: frozenset(
        "now utcnow today fromisoformat fromtimestamp strptime combine fromordinal min max".split()
    ),
    datetime.date: frozenset("today fromisoformat fromtimestamp fromordinal min max".split()),
    datetime.time: frozenset(["fromisoformat", "min", "max"]),
    datetime.timedelta: frozenset(["min", "max", "resolution"]),
    datetime.timezone: frozenset(["utc"]),
}
"""Attributes of the types themselves."""

CLASS_FUNCTIONS: Final[dict[type, Mapping[str, Any]]] = {}
"""Functions that stand for some of those; filled where the clock is."""

FUNCTION_ATTRIBUTES: Final[dict[Any, dict[str, Any]]] = {}
"""Attributes of the functions that stand for types (`dict.fromkeys`); filled by builtin_table."""

OFFERED: Final = "_offered_"
"""The attribute of a function made for a script that holds what may be read of it."""

_MISSING: Final = object()
_NAMED: Final = frozenset([FunctionType, BuiltinFunctionType, MethodType])


def no_attribute(value: object, name: str) -> NoReturn:
    what = f"type object '{value.__name__}'" if isinstance(value, type) else f"'{type(value).__name__}' object"
    raise AttributeError(f"{what} has no attribute '{name}' (or it is not available in scripts)") from None


def get_attribute(value: Any, name: str) -> Any:
    """`value.name` for scripts; the compiler has checked the name."""
    kind = type(value)
    table = ATTRIBUTES.get(kind)
    if table is not None:
        guard = table.get(name, _MISSING)
        if guard is DIRECT:
            return getattr(value, name)
        if guard is _MISSING:
            no_attribute(value, name)
        return MethodType(guard, value)  # type: ignore[arg-type]
    if type(kind) is ScriptClass or kind is ScriptClass:
        return _script_attribute(value, name)
    if kind is Facade:
        if name in value._offered:
            return getattr(value, name)
        no_attribute(value, name)
    offered = getattr(kind, "_sandbox_attrs_", None)
    if type(offered) is frozenset:
        if name in offered:
            return getattr(value, name)
    elif kind is FunctionType:
        known = FUNCTION_ATTRIBUTES.get(value) or value.__dict__.get(OFFERED)
        if known is not None and name in known:
            return known[name]
    elif kind is type:
        return _class_attribute(value, name)
    elif kind is super:
        return _inherited_attribute(value, name)
    elif isinstance(value, Exception) and name == "args":
        return error_arguments(value)
    if name == "__name__" and kind in _NAMED:
        return value.__name__
    no_attribute(value, name)


def _script_attribute(value: Any, name: str) -> Any:
    """Read an attribute of a script's class or of an instance of one."""
    if name[:1] == "_" and name != "_":
        if name == "__name__" and isinstance(value, type):
            return value.__name__
        no_attribute(value, name)
    if name in EXCEPTION_ATTRIBUTES and name != "args":
        is_class = isinstance(value, type)
        own = not is_class and name in value.__dict__
        if not own and not script_defines(value if is_class else type(value), name):
            no_attribute(value, name)
    elif name == "args" and isinstance(value, type) and not script_defines(value, name):
        no_attribute(value, name)
    return getattr(value, name)


def _class_attribute(kind: type, name: str) -> Any:
    if name == "__name__":
        return kind.__name__
    if name not in CLASS_ATTRIBUTES.get(kind, ()):
        no_attribute(kind, name)
    functions = CLASS_FUNCTIONS.get(kind)
    if functions is not None and name in functions:
        return functions[name]
    return parse_date if name == "strptime" else getattr(kind, name)


def _inherited_attribute(proxy: Any, name: str) -> Any:
    """Read `super().name`: `__init__`, and what the script's own classes define."""
    if name != "__init__" and (
        name[:1] == "_" or name in EXCEPTION_ATTRIBUTES or not script_defines(proxy.__self_class__, name)
    ):
        no_attribute(proxy, name)
    return getattr(proxy, name)


# The functions for names that are only known at run time.


def _checked_name(name: object) -> str:
    if type(name) is not str:
        raise TypeError("attribute name must be string")
    if name[:1] == "_" or name in INSPECT_ATTRIBUTES:
        raise AttributeError("attribute names starting with '_' are not available in scripts")
    return name


def dynamic_getattr(value: Any, name: object, *default: Any) -> Any:
    """getattr() for scripts."""
    if len(default) > 1:
        raise TypeError("getattr expected at most 3 arguments")
    try:
        return get_attribute(value, _checked_name(name))
    except AttributeError:
        if default:
            return default[0]
        raise


def dynamic_hasattr(value: Any, name: object) -> bool:
    """hasattr() for scripts."""
    try:
        get_attribute(value, _checked_name(name))
    except AttributeError:
        return False
    return True


def dynamic_setattr(target: Any, name: object, value: Any) -> None:
    """setattr() for scripts."""
    checked = _checked_name(name)
    setattr(writable(target, checked), checked, value)


# Method calls whose name is in the source.


class MethodTable(dict[type, Callable[..., Any]]):
    """For one method name: how to call it on each type.

    The compiler emits `(table[type(value)] or late_method(value, name))(value, …)`.
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__()
        for kind, table in ATTRIBUTES.items():
            guard = table.get(name, _MISSING)
            method = getattr(kind, name, None) if guard is DIRECT else guard
            if guard is not _MISSING and callable(method):
                self[kind] = method

    def __missing__(self, kind: type) -> None:
        return None


def late_method(value: Any, name: str) -> Callable[..., Any]:
    """Look up a method of a value whose type has no table; return it as a function that takes the value first."""
    method = get_attribute(value, name)
    return lambda value, /, *args, **kwargs: method(*args, **kwargs)


_method_tables: dict[str, MethodTable] = {}


def method_table(name: str) -> MethodTable:
    """Return the shared table of one method name. Only names of the tables above are kept."""
    table = _method_tables.get(name)
    if table is None:
        table = MethodTable(name)
        if table:
            _method_tables[name] = table
    return table
