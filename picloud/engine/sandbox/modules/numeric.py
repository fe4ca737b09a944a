"""math, random and decimal: bounded before the work, since one C call cannot be stopped."""

from __future__ import annotations

import decimal
import math
import operator
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from picloud.engine.sandbox.builtin_functions import moderate
from picloud.engine.sandbox.limits import MAX_NUMBER_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.operators import multiply
from picloud.engine.sandbox.sizes import SIZED, bounded, expect_items
from picloud.engine.sandbox.stops import LimitError

MAX_FACTORIAL: Final = 5000
_PLAIN: Final = (
    "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh degrees radians exp expm1 log log10 log2 log1p "
    "pow sqrt fabs fmod modf hypot isnan isinf isfinite isclose copysign isqrt ldexp frexp cbrt erf gamma"
).split()


def _small(function: Callable[..., int]) -> Callable[..., int]:
    def apply(n: int, *k: int) -> int:
        if type(n) is int and n > MAX_FACTORIAL:
            raise LimitError(f"the argument is larger than {MAX_FACTORIAL}")
        return function(n, *k)

    apply.__name__ = function.__name__
    return apply


def _moderate(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(number: Any) -> Any:
        return function(moderate(number))

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
    return math.fsum(bounded(items))


def _generator() -> random.Random:
    meter = current_meter()
    if meter.randomness is None:
        meter.randomness = random.Random()
    return meter.randomness


def _drawn(name: str) -> Callable[..., Any]:
    def draw(*arguments: Any) -> Any:
        return getattr(_generator(), name)(*arguments)

    draw.__name__ = name
    return draw


def choices(population: Any, weights: Any = None, *, k: int = 1) -> list[Any]:
    """random.choices."""
    expect_items(k)
    if weights is not None:
        weights = list(bounded(weights))
        if not {int, float, bool}.issuperset(map(type, weights)):
            raise TypeError("the weights must be numbers")
    return _generator().choices(list(bounded(population)), weights, k=k)


def sample(population: Any, k: int) -> list[Any]:
    """random.sample."""
    expect_items(k)
    return _generator().sample(population if type(population) in SIZED else list(bounded(population)), k)


def shuffle(items: list[Any]) -> None:
    """random.shuffle."""
    if type(items) is not list:
        raise TypeError("shuffle needs a list")
    _generator().shuffle(items)


def choice(items: Any) -> Any:
    """random.choice."""
    if type(items) not in SIZED:
        raise TypeError("choice needs a sequence")
    return _generator().choice(items)


def seed(value: Any = None) -> None:
    """random.seed: of this execution only."""
    if type(value) not in (int, str, float, bytes, type(None)):
        raise TypeError("the seed must be a number or text")
    _generator().seed(value)


def to_decimal(value: Any = "0") -> decimal.Decimal:
    """decimal.Decimal."""
    if type(value) is str and len(value) > MAX_NUMBER_TEXT:
        raise LimitError("the number is too long")
    if type(value) is int and value.bit_length() > 20_000:
        raise LimitError("the number is too large")
    if isinstance(value, tuple | list):  # sign, digits and exponent
        digits = value[1] if len(value) == 3 else ()
        if isinstance(digits, tuple | list) and len(digits) > MAX_NUMBER_TEXT:
            raise LimitError("the number is too long")
    return decimal.Decimal(value)


NUMERIC: Final[Mapping[str, Mapping[str, Any]]] = {
    "math": {
        **{name: getattr(math, name) for name in _PLAIN},
        **{name: getattr(math, name) for name in ("pi", "e", "tau", "inf", "nan")},
        **{name: _moderate(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
        **{name: _small(getattr(math, name)) for name in ("factorial", "comb", "perm")},
        "prod": product,
        "gcd": greatest_common_divisor,
        "lcm": least_common_multiple,
        "fsum": float_sum,
    },
    "random": {
        **{name: _drawn(name) for name in "random uniform randint randrange gauss expovariate triangular".split()},
        "choices": choices,
        "sample": sample,
        "shuffle": shuffle,
        "choice": choice,
        "seed": seed,
    },
    "decimal": {"Decimal": to_decimal, "InvalidOperation": decimal.InvalidOperation},
}
