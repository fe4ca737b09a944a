"""math and decimal: bounded before the work, since one C call cannot be stopped."""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from picloud.engine.sandbox.decimals import Decimal, to_decimal
from picloud.engine.sandbox.operators import multiply
from picloud.engine.sandbox.sizes import bounded
from picloud.engine.sandbox.stops import LimitError

MAX_FACTORIAL: Final = 5000
_QUICK: Final = frozenset([int, float, bool])
_PLAIN: Final = (
    "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh degrees radians exp expm1 log log10 log2 log1p "
    "pow sqrt fabs fmod modf isnan isinf isfinite isclose copysign isqrt ldexp frexp cbrt erf erfc gamma "
    "floor ceil trunc lgamma exp2 remainder nextafter ulp"
).split()


def distance(p: Any, q: Any, /) -> float:
    """math.dist."""
    return math.dist(_floats(p), _floats(q))


def _small(function: Callable[..., int]) -> Callable[..., int]:
    def apply(n: int, *k: int) -> int:
        if type(n) is int and n > MAX_FACTORIAL:
            raise LimitError(f"the argument is larger than {MAX_FACTORIAL}")
        return function(n, *k)

    apply.__name__ = function.__name__
    return apply


def product(items: Iterable[Any], *, start: Any = 1) -> Any:
    """math.prod."""
    for item in bounded(items):
        start = multiply(start, item)
    return start


def least_common_multiple(*numbers: int) -> int:
    """math.lcm."""
    result = 1
    for number in [operator.index(n) for n in numbers]:
        if number == 0:
            return 0
        result = multiply(result, abs(number) // math.gcd(result, number))
    return result


def greatest_common_divisor(*numbers: int) -> int:
    """math.gcd."""
    result = 0
    for number in numbers:
        result = math.gcd(result, number)
    return result


def float_sum(items: Iterable[Any]) -> float:
    """math.fsum."""
    return math.fsum(_floats(items))


def _floats(items: Iterable[Any]) -> Iterable[Any]:
    """Return numbers that C code turns into floats at once: what takes longer is turned here."""
    kept = list(bounded(items))
    if _QUICK.issuperset(map(type, kept)):
        return kept
    return [float(number) if type(number) is Decimal else number for number in kept]


def hypotenuse(*coordinates: Any) -> float:
    """math.hypot."""
    return math.hypot(*_floats(coordinates))


NUMERIC: Final[Mapping[str, Mapping[str, Any]]] = {
    "math": {
        **{name: getattr(math, name) for name in _PLAIN},
        **{name: getattr(math, name) for name in ("pi", "e", "tau", "inf", "nan")},
        **{name: _small(getattr(math, name)) for name in ("factorial", "comb", "perm")},
        "prod": product,
        "dist": distance,
        "hypot": hypotenuse,
        "gcd": greatest_common_divisor,
        "lcm": least_common_multiple,
        "fsum": float_sum,
    },
    "decimal": {
        "Decimal": to_decimal,
        **{name: getattr(decimal, name) for name in ("DecimalException", "InvalidOperation", "DivisionByZero")},
        **{name: getattr(decimal, name) for name in dir(decimal) if name.startswith("ROUND_")},
    },
}
