"""The globals of a script: builtins, guards, and the tables of the methods it calls."""

from __future__ import annotations

import builtins
import decimal
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import regex

from picloud.engine.sandbox import builtin_functions as functions
from picloud.engine.sandbox import iteration, operators, text
from picloud.engine.sandbox.attributes import (
    ATTRIBUTES,
    FUNCTION_ATTRIBUTES,
    direct,
    dynamic_getattr,
    dynamic_hasattr,
    dynamic_setattr,
    get_attribute,
    late_method,
    method_table,
)
from picloud.engine.sandbox.class_model import BUILTIN_EXCEPTIONS, SCRIPT_MODULE, ScriptClass, allow_as_base
from picloud.engine.sandbox.containers import Counter, DefaultDict, Deque
from picloud.engine.sandbox.dataclass_model import script_dataclass
from picloud.engine.sandbox.facade import Facade, offered_names
from picloud.engine.sandbox.meter import die
from picloud.engine.sandbox.modules import MODULES, collecting, numeric
from picloud.engine.sandbox.sizes import ATOMS, comparable, hashable, sized_result, unpackable
from picloud.engine.sandbox.stops import LimitError

ATTRIBUTES[type(regex.match("a", "a"))] = direct("start end span pos endpos lastindex lastgroup group groups groupdict")
allow_as_base(LimitError)

TYPES: Final[Mapping[str, tuple[Callable[..., Any], type]]] = {
    "str": (text.to_text, str),
    "list": (functions.to_list, list),
    "tuple": (functions.to_tuple, tuple),
    "set": (functions.to_set, set),
    "frozenset": (functions.to_frozenset, frozenset),
    "dict": (functions.to_dict, dict),
    "bytes": (functions.to_bytes, bytes),
    "int": (functions.to_int, int),
    "float": (functions.to_float, float),
    "bool": (bool, bool),
}
"""Names of types: the function that a script calls, and the real class for isinstance, type and match."""

_IMPORTED_TYPES: Final[Mapping[str, tuple[Callable[..., Any], type]]] = {
    "collections.Counter": (collecting.counter, Counter),
    "collections.defaultdict": (collecting.default_dict, DefaultDict),
    "collections.deque": (collecting.deque, Deque),
    "decimal.Decimal": (numeric.to_decimal, decimal.Decimal),
    "range": (functions.make_range, range),
}
_REAL: Final[dict[Any, type]] = dict([*TYPES.values(), *_IMPORTED_TYPES.values()])
_CALLED: Final[dict[type, Any]] = {kind: function for function, kind in _REAL.items()}

text.SCRIPT_NAMES.update({function: name for name, (function, _) in {**TYPES, **_IMPORTED_TYPES}.items()})
for _name, (_function, _) in _IMPORTED_TYPES.items():
    FUNCTION_ATTRIBUTES[_function] = {"__name__": _name.rpartition(".")[2]}
FUNCTION_ATTRIBUTES[functions.to_dict] = {"fromkeys": functions.dict_from_keys}
FUNCTION_ATTRIBUTES[functions.to_int] = {"from_bytes": functions.int_from_bytes}
FUNCTION_ATTRIBUTES[functions.to_bytes] = {"fromhex": lambda digits: sized_result(bytes.fromhex(digits))}
FUNCTION_ATTRIBUTES[text.to_text] = {"maketrans": lambda *tables: str.maketrans(*tables)}
for _name, (_function, _kind) in TYPES.items():
    if _function is not bool:
        FUNCTION_ATTRIBUTES.setdefault(_function, {})["__name__"] = _name


def real_type(kind: Any) -> Any:
    """Return the class that a script means."""
    if type(kind) is tuple:
        return tuple([real_type(one) for one in kind])
    try:
        return _REAL.get(kind, kind)
    except TypeError:
        return kind


def is_instance(value: Any, kind: Any) -> bool:
    """isinstance() for scripts."""
    return isinstance(value, real_type(kind))


def is_subclass(kind: Any, parents: Any) -> bool:
    """issubclass() for scripts."""
    return issubclass(real_type(kind), real_type(parents))


def type_of(value: Any) -> Any:
    """type() for scripts, with one argument."""
    kind = type(value)
    if kind in _CALLED:
        return _CALLED[kind]
    if type(kind) is ScriptClass or kind in ATOMS or issubclass(kind, Exception):
        return kind
    raise TypeError("type() is not available for this object")


def length(value: Any) -> int:
    """len() for scripts."""
    return len(value)


def augment_attribute(target: Any, name: str, sign: str, value: Any) -> None:
    """`target.name <sign>= value`."""
    begin_augment_attribute(target, name, sign)(value)


def begin_augment_attribute(target: Any, name: str, sign: str) -> Callable[[Any], None]:
    """Read `target.name`; return the function that takes the value of `<sign>= value`."""
    current = get_attribute(target, name)
    return lambda value: setattr(operators.writable(target, name), name, operators.augment(sign, current, value))


def subtract(a: Any, b: Any) -> Any:
    """`a - b`."""
    return operators.BINARY["-"](a, b)


def importer(modules: Mapping[str, Facade]) -> Callable[..., Facade]:
    """Return the `__import__` of scripts: facades only."""

    def import_module(
        name: str, globals_: Any = None, locals_: Any = None, names: Sequence[str] | None = (), level: int = 0
    ) -> Facade:
        facade = None if level else modules.get(name) or MODULES.get(name)
        if facade is None:
            known = ", ".join(sorted({*MODULES, *modules}))
            raise ImportError(f"module '{name}' is not available (available: {known})")
        for wanted in names or ():
            if wanted not in offered_names(facade):
                raise ImportError(f"cannot import name '{wanted}' from '{name}'")
        return facade if names or "." not in name else _package_of(name, facade)

    return import_module


def _package_of(name: str, facade: Facade) -> Facade:
    """`import urllib.parse` binds `urllib`."""
    package, _, rest = name.partition(".")
    return Facade(package, {rest: facade})


BUILTINS: Final[dict[str, Any]] = {
    **{name: function for name, (function, _) in TYPES.items()},
    **{kind.__name__: kind for kind in BUILTIN_EXCEPTIONS},
    **{name: getattr(builtins, name) for name in "abs bin callable chr hex oct ord property super".split()},
    "staticmethod": staticmethod, "classmethod": classmethod,
    "LimitError": LimitError,
    "None": None, "True": True, "False": False, "Ellipsis": ..., "NotImplemented": NotImplemented,
    "divmod": operators.divide_with_rest, "pow": operators.power, "round": functions.round_number,
    "sum": functions.total, "min": functions.minimum, "max": functions.maximum, "sorted": functions.sorted_list,
    "any": functions.any_of, "all": functions.all_of, "map": iteration.mapped, "filter": iteration.filtered,
    "zip": iteration.pairs, "enumerate": iteration.numbered, "reversed": iteration.backwards,
    "iter": iteration.to_iterator, "next": iteration.next_item, "len": length, "range": functions.make_range,
    "isinstance": is_instance, "issubclass": is_subclass, "type": type_of, "hash": functions.hash_value,
    "repr": text.to_repr, "format": text.format_value, "print": functions.print_line,
    "getattr": dynamic_getattr, "hasattr": dynamic_hasattr, "setattr": dynamic_setattr,
    "dataclass": script_dataclass,
    "__build_class__": builtins.__build_class__,
}  # fmt: skip

GUARDS: Final[dict[str, Any]] = {
    "__name__": SCRIPT_MODULE,
    "_ScriptClass_": ScriptClass, "_Exception_": Exception, "_die_": die,
    "_type_": type, "_int_": int, "_str_": str, "_dict_": dict, "_list_": list,
    **{f"_t_{name}_": kind for name, (_, kind) in TYPES.items()},
    "_getattr_": get_attribute, "_method_": late_method, "_with_": operators.usable_with,
    "_write_": operators.writable, "_writeitem_": operators.writable_items,
    "_delitem_": operators.deletable_items,
    "_add_": operators.add, "_sub_": subtract, "_mul_": operators.multiply, "_mod_": operators.modulo,
    "_floordiv_": operators.floor_divide, "_pow_": operators.power, "_shl_": operators.shift_left,
    "_or_": operators.BINARY["|"], "_and_": operators.BINARY["&"], "_xor_": operators.BINARY["^"],
    "_augment_": operators.augment, "_augitem_": operators.augment_item, "_augattr_": augment_attribute,
    "_begin_augitem_": operators.begin_augment_item, "_begin_augattr_": begin_augment_attribute,
    "_contains_": operators.contains, "_slice_": operators.take_slice, "_setslice_": operators.put_slice,
    "_key_": hashable, "_cmp_": comparable, "_star_": unpackable, "_sized_": sized_result,
    "_fmt_": text.format_field, "_fstr_": text.join_fields,
    "_gen_": iteration.generated, "_generator_": iteration.generator_function,
    "_returning_": iteration.returning_generator_function,
}  # fmt: skip


@cache
def _plain_importer() -> Callable[..., Facade]:
    return importer({})


def new_globals(methods: frozenset[str], names: Mapping[str, object], modules: Mapping[str, Facade]) -> dict[str, Any]:
    """Return fresh globals for one run of a script."""
    made = {
        "__builtins__": {**BUILTINS, "__import__": importer(modules) if modules else _plain_importer()},
        **GUARDS,
        **names,
    }
    for name in methods:
        made[f"_m_{name}_"] = method_table(name)
    return made
