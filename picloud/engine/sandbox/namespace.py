"""What a script finds: its builtins and globals, and the guards that are constants of its code."""

from __future__ import annotations

import builtins
import uuid
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar, Final

import regex

from picloud.engine.sandbox import builtin_functions as functions
from picloud.engine.sandbox import iteration, operators, text
from picloud.engine.sandbox.attributes import (
    ATTRIBUTES,
    FUNCTION_ATTRIBUTES,
    dynamic_getattr,
    dynamic_hasattr,
    dynamic_setattr,
    get_attribute,
    late_method,
    method_table,
)
from picloud.engine.sandbox.class_model import BUILTIN_EXCEPTIONS, SCRIPT_MODULE, ScriptClass, allow_as_base
from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.containers import Counter, DefaultDict, Deque
from picloud.engine.sandbox.dataclass_model import script_dataclass
from picloud.engine.sandbox.decimals import Decimal, to_decimal
from picloud.engine.sandbox.facade import Facade, offered_names
from picloud.engine.sandbox.kind_unions import STAND_INS, KindUnion, real_kinds
from picloud.engine.sandbox.meter import die
from picloud.engine.sandbox.modules import MODULES
from picloud.engine.sandbox.modules.collecting import counter, default_dict, deque
from picloud.engine.sandbox.modules.encoding import make_uuid
from picloud.engine.sandbox.modules.patterns import MATCH_ATTRIBUTES
from picloud.engine.sandbox.modules.timing import to_zone
from picloud.engine.sandbox.sizes import ATOMS, SIZED, hashable, sized_result, unpackable
from picloud.engine.sandbox.sorting import maximum, minimum, sorted_list
from picloud.engine.sandbox.stops import LimitError
from picloud.engine.sandbox.tables import add_keys, dict_from_keys, to_mapping, to_set

ATTRIBUTES[type(regex.match("a", "a"))] = MATCH_ATTRIBUTES
allow_as_base(LimitError)

TYPES: Final[Mapping[str, tuple[Callable[..., Any], type]]] = {
    "str": (text.to_text, str),
    "list": (functions.to_list, list),
    "tuple": (functions.to_tuple, tuple),
    "set": (to_set, set),
    "frozenset": (functions.to_frozenset, frozenset),
    "dict": (functions.to_dict, dict),
    "bytes": (functions.to_bytes, bytes),
    "int": (functions.to_int, int),
    "float": (functions.to_float, float),
    "bool": (bool, bool),
}
"""Names of types: the function that a script calls, and the real class for isinstance, type and match."""

_IMPORTED_TYPES: Final[Mapping[str, tuple[Callable[..., Any], type]]] = {
    "decimal.Decimal": (to_decimal, Decimal),
    "collections.Counter": (counter, Counter),
    "collections.defaultdict": (default_dict, DefaultDict),
    "collections.deque": (deque, Deque),
    "uuid.UUID": (make_uuid, uuid.UUID),
    "zoneinfo.ZoneInfo": (to_zone, zoneinfo.ZoneInfo),
    "range": (functions.make_range, range),
}
_REAL: Final[dict[Any, type]] = dict([*TYPES.values(), *_IMPORTED_TYPES.values()])
_CALLED: Final[dict[type, Any]] = {kind: function for function, kind in _REAL.items()}

STAND_INS.update({function: name for name, (function, _) in {**TYPES, **_IMPORTED_TYPES}.items()})
FUNCTION_ATTRIBUTES[functions.to_dict] = {"fromkeys": dict_from_keys}
FUNCTION_ATTRIBUTES[functions.to_int] = {"from_bytes": functions.int_from_bytes}
FUNCTION_ATTRIBUTES[functions.to_bytes] = {"fromhex": lambda digits: sized_result(bytes.fromhex(digits))}
FUNCTION_ATTRIBUTES[text.to_text] = {"maketrans": text.make_translation}
for _name, (_function, _kind) in (*TYPES.items(), *_IMPORTED_TYPES.items()):
    if _function is not bool:
        FUNCTION_ATTRIBUTES.setdefault(_function, {})["__name__"] = _name.rpartition(".")[2]


def real_type(kind: Any) -> Any:
    """Return the class that a script means."""
    if type(kind) is tuple:
        return tuple([real_type(one) for one in kind])
    if type(kind) is KindUnion:
        return real_kinds(kind, _REAL)
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


@dataclass(frozen=True, slots=True)
class KindName:
    """Stands for an exception class of the host whose __init__ would write what it is given into a text, unchecked."""

    __name__: str
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"__name__"})


def type_of(value: Any) -> Any:
    """type() for scripts, with one argument."""
    kind = type(value)
    if kind in _CALLED:
        return _CALLED[kind]
    if type(kind) is ScriptClass or kind in ATOMS:
        return kind
    if issubclass(kind, Exception):
        return KindName(kind.__name__) if type(kind.__init__) is FunctionType else kind
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
    "sum": functions.total, "min": minimum, "max": maximum, "sorted": sorted_list,
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
    "_ScriptClass_": ScriptClass, "_Exception_": Exception,
    "_type_": type, "_len_": len, "_int_": int, "_float_": float, "_str_": str, "_tuple_": tuple, "_dict_": dict,
    "_list_": list, "_set_": set, "_round_": round,
    "_getattr_": get_attribute, "_method_": late_method, "_with_": operators.usable_with,
    "_write_": operators.writable, "_writeitem_": operators.writable_items, "_delitem_": operators.deletable_items,
    "_add_": operators.add, "_added_": operators.grown, "_text_": text.to_text, "_sub_": subtract,
    "_mul_": operators.multiply, "_mod_": operators.modulo,
    "_floordiv_": operators.floor_divide, "_pow_": operators.power, "_shl_": operators.shift_left,
    "_or_": operators.BINARY["|"], "_and_": operators.BINARY["&"], "_xor_": operators.BINARY["^"],
    "_augment_": operators.augment, "_augitem_": operators.augment_item, "_augattr_": augment_attribute,
    "_sized_types_": SIZED, "_looked_at_": frozenset([tuple, slice]), "_newkey_": operators.writable_key,
    "_begin_augitem_": operators.begin_augment_item, "_begin_augattr_": begin_augment_attribute,
    "_contains_": operators.contains, "_slice_": operators.take_slice, "_setslice_": operators.put_slice,
    "_key_": hashable, "_cmp_": comparable, "_star_": unpackable, "_mapping_": to_mapping,
    "_key_set_": to_set, "_add_keys_": add_keys, "_sized_": sized_result,
    "_unpack_": iteration.unpacked, "_unpack_each_": iteration.unpacked_each,
    "_fmt_": text.format_field, "_fstr_": text.join_fields,
    "_gen_": iteration.generated, "_generator_": iteration.generator_function,
    "_returning_": iteration.returning_generator_function,
}  # fmt: skip


_KEPT_NAMES: Final = frozenset(["super", "__build_class__"])
"""What only works by its name."""
_GLOBALS: Final = {
    "__name__": SCRIPT_MODULE,
    "_die_": die,
    **{f"_t_{name}_": kind for name, (_, kind) in TYPES.items()},
}


def find_constant(is_builtin: Callable[[str], bool], name: str) -> Any:
    """Return what a name stands for in every run of a script. Raises: LookupError where it does not."""
    if name.startswith("_m_"):
        return method_table(name[3:-1])
    if name in GUARDS:
        return GUARDS[name]
    if name in _KEPT_NAMES or not is_builtin(name):
        raise LookupError(name)
    return BUILTINS[name]


def new_globals(names: Mapping[str, object], modules: Mapping[str, Facade]) -> dict[str, Any]:
    """Return fresh globals for one run of a script."""
    return {**_GLOBALS, "__builtins__": {**BUILTINS, "__import__": importer(modules)}, **names}
