"""The Decimal of scripts: its operations are Python, so that they can be stopped, and are bounded before the work.

The C code behind decimal.Decimal converts every integer that it meets, which takes the square of its length: a sort, a
search or a look-up among many of both would hold the interpreter for seconds in one call. Methods in Python between the
two let other threads run, and are where an execution can be stopped.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any, Final

from picloud.engine.sandbox.limits import MAX_DECIMAL_EXPONENT, MAX_DECIMAL_INT_BITS, MAX_NUMBER_TEXT, SMALL
from picloud.engine.sandbox.records import Record
from picloud.engine.sandbox.stops import LimitError

_HOST: Final = decimal.Decimal

_EITHER_WAY: Final = "add sub mul truediv".split()
_DIVISIONS: Final = "floordiv mod divmod".split()
_COMPARISONS: Final = "__eq__ __ne__ __lt__ __le__ __gt__ __ge__".split()
_METHODS: Final = (
    "__neg__ __pos__ __abs__ sqrt copy_abs copy_negate quantize normalize to_integral_value to_integral_exact compare "
    "copy_sign max min same_quantum"
).split()
_WRITTEN_OUT: Final = "__int__ __trunc__ __floor__ __ceil__ __round__ __format__".split()


class Decimal(decimal.Decimal):
    """decimal.Decimal."""

    __slots__ = ()
    __hash__ = _HOST.__hash__

    def as_integer_ratio(self) -> tuple[int, int]:
        """Both integers have as many digits as the number and its exponent have together."""
        _, digits, exponent = self.as_tuple()
        if isinstance(exponent, int) and len(digits) + abs(exponent) > MAX_DECIMAL_EXPONENT:
            raise LimitError("the Decimal is too long for a ratio of integers")
        return super().as_integer_ratio()


Decimal.__name__ = Decimal.__qualname__ = "decimal.Decimal"


def to_decimal(value: Any = "0") -> Decimal:
    """Make a Decimal of what a script gives."""
    if type(value) is str and len(value) > MAX_NUMBER_TEXT:
        raise LimitError("the number is too long")
    if isinstance(value, tuple | list):  # sign, digits and exponent
        digits = value[1] if len(value) == 3 else ()
        if isinstance(digits, tuple | list) and len(digits) > MAX_NUMBER_TEXT:
            raise LimitError("the number is too long")
    return Decimal(_short(value))


def owned(value: Any) -> Any:
    """Return a script's Decimal in place of one of the host's."""
    return Decimal(value) if type(value) is _HOST else value


def _short(value: Any) -> Any:
    """Refuse an integer that takes long to become a Decimal."""
    if isinstance(value, int) and not -SMALL < value < SMALL and value.bit_length() > MAX_DECIMAL_INT_BITS:
        raise LimitError(f"a Decimal meets an integer of more than {MAX_DECIMAL_INT_BITS} bits")
    return value


def moderate(number: Any) -> Any:
    """Refuse a Decimal whose digits would fill the memory when they are written out."""
    if isinstance(number, _HOST) and number.is_finite() and abs(number.adjusted()) > MAX_DECIMAL_EXPONENT:
        raise LimitError("the Decimal is too large")
    return number


def _with_other(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Guard an operator."""

    def operate(self: Decimal, other: Any) -> Any:
        if type(other) is int:
            _short(other)
        result = apply(self, other)
        return Decimal(result) if type(result) is _HOST else result

    return operate


def _compared(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(self: Decimal, other: Any) -> Any:
        return apply(self, _short(other) if type(other) is int else other)

    return compare


def _divided(apply: Callable[..., Any]) -> Callable[..., Any]:
    def divide(self: Decimal, other: Any) -> Any:
        result = apply(moderate(self), moderate(_short(other)))
        return tuple(map(owned, result)) if type(result) is tuple else owned(result)

    return divide


def _raised(apply: Callable[..., Any]) -> Callable[..., Any]:
    def power(self: Decimal, other: Any, modulus: Any = None) -> Any:
        exponent = other if apply is _HOST.__pow__ else self
        if modulus is not None:  # as many steps as the exponent has digits
            moderate(self), moderate(other), moderate(_short(modulus))
        elif _is_number(exponent) and not -MAX_DECIMAL_EXPONENT <= exponent <= MAX_DECIMAL_EXPONENT:
            raise LimitError("the exponent of a Decimal is too large")
        return owned(apply(self, _short(other)) if modulus is None else apply(self, _short(other), modulus))

    return power


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, _HOST) and value.is_finite())


def _with_options(apply: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Decimal, *arguments: Any, **options: Any) -> Any:
        return owned(apply(self, *map(_short, arguments), **{name: _short(given) for name, given in options.items()}))

    return call


def _written_out(apply: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *arguments: owned(apply(moderate(self), *arguments))


def _guard() -> None:
    """Put a guard before every method that costs more than its Decimal, or makes another."""
    guarded = {
        _with_other: [f"__{side}{name}__" for name in _EITHER_WAY for side in ("", "r")],
        _compared: _COMPARISONS,
        _divided: [f"__{side}{name}__" for name in _DIVISIONS for side in ("", "r")],
        _raised: ["__pow__", "__rpow__"],
        _with_options: _METHODS,
        _written_out: _WRITTEN_OUT,
    }
    for guard, names in guarded.items():
        for name in names:
            method = guard(getattr(_HOST, name))
            method.__name__ = method.__qualname__ = name
            setattr(Decimal, name, method)


_guard()


class DecimalTuple(Record):
    """What Decimal.as_tuple gives."""

    __slots__ = ()
    _fields_ = ("sign", "digits", "exponent")


def parts(number: Decimal) -> DecimalTuple:
    """Decimal.as_tuple."""
    return DecimalTuple(tuple(number.as_tuple()))
