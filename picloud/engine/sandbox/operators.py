"""Operators that can make large values or long computations out of small ones."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, Final

from picloud.engine.sandbox.class_model import ScriptClass, script_defines
from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.containers import BigRange, Counter, DefaultDict, Deque
from picloud.engine.sandbox.decimals import Decimal, to_decimal
from picloud.engine.sandbox.kind_unions import union_of
from picloud.engine.sandbox.limits import (
    CHARGE_FROM,
    MAX_INT_BITS,
    MAX_POW_MOD_BITS,
    SMALL,
)
from picloud.engine.sandbox.percent_formats import percent
from picloud.engine.sandbox.searching import is_in
from picloud.engine.sandbox.sizes import (
    ATOMS,
    HASHED,
    ITEMS_VIEW,
    MAPPINGS,
    SEQUENCES,
    SET_VIEWS,
    SETS,
    SIZED,
    TEXTS,
    bounded,
    expect_items,
    expect_room,
    expect_text,
    hashable,
    is_iterable,
    sized_result,
    spread,
    ticking,
    walk,
)
from picloud.engine.sandbox.stops import LimitError
from picloud.engine.sandbox.tables import put_pairs, to_set

_NUMBERS: Final = frozenset([int, float, bool, Decimal])


def too_many_bits() -> LimitError:
    return LimitError(f"the integer has more than {MAX_INT_BITS} bits")


def add(a: Any, b: Any) -> Any:
    return grown(a + b)


def grown(result: Any) -> Any:
    """Check a sum, of numbers or of sequences."""
    kind = type(result)
    if kind is float or (kind is int and -SMALL < result < SMALL) or (kind is str and len(result) < CHARGE_FROM):
        return result
    return sized_result(result)


def multiply(a: Any, b: Any) -> Any:
    kind, other = type(a), type(b)
    if kind is float or other is float:
        return a * b
    if kind is int and other is int:
        if -SMALL < a < SMALL and -SMALL < b < SMALL:
            return a * b
        if a.bit_length() + b.bit_length() > MAX_INT_BITS:
            raise too_many_bits()
        return a * b
    expect_product(a, b)
    if kind is Decimal or other is Decimal:
        return a * b
    return sized_result(a * b)


def expect_product(a: Any, b: Any) -> None:
    """Check a repetition (`text * 3`, `3 * items`) before it is made."""
    for value, times in ((a, b), (b, a)):
        if type(value) in SIZED and isinstance(times, int):
            if type(value) in TEXTS:
                expect_text(len(value) * times, 1 if isinstance(value, bytes) or value.isascii() else 4)
            else:
                expect_items(len(value) * times)


def power(base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is not None:
        numbers = [n for n in (base, exp, mod) if isinstance(n, int)]
        if max([n.bit_length() for n in numbers], default=0) > MAX_POW_MOD_BITS:
            raise LimitError(f"pow() with a modulus takes numbers of at most {MAX_POW_MOD_BITS} bits")
        if isinstance(base, int) and Decimal in (type(exp), type(mod)):
            base = to_decimal(base)  # Python asks only the first of three
        return pow(base, exp, mod)
    grows = isinstance(base, int) and isinstance(exp, int) and exp > 0 and base not in (-1, 0, 1)
    if grows and base.bit_length() * exp > MAX_INT_BITS:
        raise too_many_bits()
    return base**exp


def shift_left(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 0 and a.bit_length() + b > MAX_INT_BITS and a:
        raise too_many_bits()
    return a << b


def _divisible(a: Any, b: Any) -> bool:
    """Refuse divisions of long integers, which cost the product of both lengths."""
    both = isinstance(a, int) and isinstance(b, int)
    if both and a.bit_length() > 2 * MAX_INT_BITS and b.bit_length() > MAX_POW_MOD_BITS:
        raise too_many_bits()
    return True


def modulo(a: Any, b: Any) -> Any:
    if type(a) in TEXTS:
        return percent(a, b)
    return a % b if type(a) is float or (type(b) is int and -SMALL < b < SMALL) or _divisible(a, b) else None


def floor_divide(a: Any, b: Any) -> Any:
    return a // b if type(a) is float or (type(b) is int and -SMALL < b < SMALL) or _divisible(a, b) else None


def divide_with_rest(a: Any, b: Any) -> tuple[Any, Any]:
    _divisible(a, b)
    quotient, rest = divmod(a, b)
    return quotient, rest


def _set_operator(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def guarded(a: Any, b: Any) -> Any:
        kind, other = type(a), type(b)
        if kind in HASHED or other in SET_VIEWS:
            a, b = _operand(a, other), _operand(b, kind)
        return _set_result(apply(a, b))

    return guarded


def _operand(value: Any, other: type) -> Any:
    """Guard one side of a set operator. A view of a dict takes any iterable on its other side."""
    kind = type(value)
    if kind in HASHED:
        hashes_values = kind is ITEMS_VIEW and not ATOMS.issuperset({type(held) for _, held in value})
        return walk(value) if hashes_values else spread(value)
    return to_set(value) if other in SET_VIEWS else value


subtract = _set_operator(operator.sub)
both = _set_operator(operator.and_)
_either_set = _set_operator(operator.or_)
exclusive = _set_operator(operator.xor)


def either(a: Any, b: Any) -> Any:
    """`a | b`, also of types."""
    if type(a) in HASHED or (union := union_of(a, b)) is None:
        return _either_set(a, b)
    return union


def _set_result(result: Any) -> Any:
    if type(result) is frozenset:
        return walk(sized_result(result))  # a frozenset is checked once, here: see hashable()
    return result if type(result) in ATOMS else sized_result(result)


BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": add, "-": subtract, "*": multiply, "/": operator.truediv, "//": floor_divide, "%": modulo, "**": power,
    "<<": shift_left, ">>": operator.rshift, "&": both, "|": either, "^": exclusive,
}  # fmt: skip

_IN_PLACE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "&": operator.iand, "|": operator.ior,
    "^": operator.ixor,
}  # fmt: skip


_UNSUPPORTED: Final = re.compile(r"^(unsupported operand type\(s\) for )[^:]+:")


def augment(sign: str, target: Any, value: Any) -> Any:
    """`target <sign>= value` on a value: containers change in place."""
    kind = type(target)
    if kind not in SEQUENCES and kind not in MAPPINGS:
        try:
            return BINARY[sign](target, value)
        except TypeError as error:
            raise TypeError(_UNSUPPORTED.sub(f"\\1{sign}=:", str(error))) from None
    change = _IN_PLACE.get(sign)
    if change is None:
        raise TypeError(f"unsupported operand type(s) for {sign}=: '{kind.__name__}' and '{type(value).__name__}'")
    if sign == "*":
        expect_product(target, value)
    elif kind is list or kind is Deque:
        if sign == "+":
            value = bounded(value)
            expect_room(target, value)
    elif kind in MAPPINGS and type(value) not in MAPPINGS and sign == "|":
        put_pairs(target, value)
        return sized_result(target)
    elif kind in SETS or kind in MAPPINGS:
        spread(target)
        if kind is Counter:
            if sign in ("+", "-") and type(value) in MAPPINGS:
                _count_up_to_fault(target, sign, value)
            expect_counts(target)
        if type(value) in HASHED:
            spread(value)
        return _set_result(change(target, value))
    return sized_result(change(target, value))


def augment_item(container: Any, key: Any, sign: str, value: Any) -> None:
    """`container[key] <sign>= value`."""
    begin_augment_item(container, key, sign)(value)


def begin_augment_item(container: Any, key: Any, sign: str) -> Callable[[Any], None]:
    """Read `container[key]`; return the function that takes the value of `<sign>= value`."""
    if type(key) is slice:
        raise TypeError("augmented assignment to a slice is not available")
    key = hashable(key)
    current = container[key]

    def finish(value: Any) -> None:
        changed = augment(sign, current, value)
        writable_items(container)[hashable(key)] = changed

    return finish


def _count_up_to_fault(counter: Any, sign: str, more: Any) -> None:
    """Change a Counter with values that are no numbers as far as Python would, which counts key by key."""
    if _NUMBERS.issuperset(map(type, counter.values())):
        return
    expect_items(len(counter) + len(more))
    for key, count in ticking(iter(expect_counts(spread(more)).items())):
        counter[key] = BINARY[sign](counter[key], count)


def expect_counts(counter: Any) -> Any:
    """Return a Counter (or what is added to one) if its values are numbers: texts would grow with every sum."""
    if not _NUMBERS.issuperset(map(type, counter.values())):
        raise TypeError("the values of a Counter must be numbers")
    return counter


# Membership, keys and slices.

_SEARCHED: Final = (SEQUENCES - SETS) | {type({}.values()), range}
"""Types that are searched from the start to the end."""


def contains(item: Any, container: Any) -> bool:
    """`item in container`."""
    kind = type(container)
    if kind in _SEARCHED:
        return is_in(item, container)
    if kind in SIZED or kind is BigRange or _defines_contains(kind):
        return comparable(item) in container
    if is_iterable(container) or hasattr(kind, "__contains__"):  # else the interpreter says what it needs
        try:
            container = ticking(iter(container))
        except TypeError:
            raise TypeError(f"argument of type '{kind.__name__}' is not iterable") from None
    return comparable(item) in container


def _defines_contains(kind: type) -> bool:
    return type(kind) is ScriptClass and script_defines(kind, "__contains__")


def take_slice(value: Any, start: Any, stop: Any, step: Any) -> Any:
    if not ATOMS.issuperset((type(start), type(stop), type(step))):
        # __getitem__ of a script is handed the slice; slices in slices overflow the stack when they are freed
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    result = value[start:stop:step]
    return sized_result(result) if type(result) in SIZED and len(result) > 512 else result


def put_slice(values: Any, target: Any, start: Any, stop: Any, step: Any) -> None:
    """`target[start:stop:step] = values`; Python computes the values first."""
    if type(target) is not list:
        what = "slice assignment needs a list" if type(target) in _WRITABLE else _no_items(target)
        raise TypeError(what)
    slice(start, stop, step).indices(0)  # Python refuses bounds before it looks at the values
    if is_iterable(values):
        values = list(bounded(values))
        expect_room(target, values)
    target[start:stop:step] = values
    sized_result(target)


_WRITABLE = frozenset([dict, list, DefaultDict, Counter, Deque])


def writable_items(target: Any) -> Any:
    """Guard the target of `target[key] = …` and `del target[a:b]`."""
    return target if type(target) in _WRITABLE else _NoItems(target)


class _NoItems:
    """Stands for a target that takes no items, and says so when the key was evaluated, as Python does."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(_no_items(self._target))

    def __delitem__(self, key: Any) -> None:
        raise TypeError(f"'{type(self._target).__name__}' object doesn't support item deletion")


def _no_items(target: Any) -> str:
    return f"'{type(target).__name__}' object does not support item assignment"


def writable_key(key: Any) -> Any:
    """Guard the key of `target[key] = …`: a script's `__getitem__` is handed slices."""
    if type(key) is slice:
        raise TypeError("slice assignment is only available with the bounds: x[a:b] = value")
    return hashable(key)


class _ErrorWriter:
    """Sets attributes of a script's exception: C code takes `args` from any iterable."""

    __slots__ = ("_error",)
    _error: Exception

    def __init__(self, error: Exception) -> None:
        object.__setattr__(self, "_error", error)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._error, name, tuple(bounded(value)) if name == "args" else value)

    def __delattr__(self, name: str) -> None:
        delattr(self._error, name)


def deletable_items(target: Any) -> Any:
    """Guard the target of `del target[key]`: from what has no items to delete, Python deletes none."""
    return target if not hasattr(type(target), "__delitem__") else writable_items(target)


def writable(target: Any, name: str) -> Any:
    """Guard the target of `target.name = …` and `del target.name`: objects and classes of the script only."""
    kind = type(target)
    if type(kind) is ScriptClass or kind is ScriptClass:
        return _ErrorWriter(target) if isinstance(target, Exception) else target
    raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}' (or it is not available in scripts)")


def usable_with(manager: Any) -> Any:
    """Guard the object of a `with` statement: host types that opt in."""
    if getattr(type(manager), "_sandbox_cm_", False) is True:
        return manager
    raise TypeError(f"'{type(manager).__name__}' object cannot be used in a with statement")
