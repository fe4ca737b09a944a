"""The Decimal of scripts does what Python's does, and gives nothing but Decimals of its own kind."""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable
from typing import Any

import pytest

from picloud.engine.sandbox.attributes import ATTRIBUTES
from picloud.engine.sandbox.decimals import Decimal, to_decimal
from picloud.engine.sandbox.stops import LimitError

NUMBERS = ("0", "1", "-1", "2.5", "1E+5", "-0", "NaN", "sNaN", "Infinity", "-Infinity", "123456789.123456789", "1e-7")
OTHERS: tuple[Any, ...] = (0, 1, -3, 2**70, 2.5, True, "text", None)
OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, divmod, operator.eq,
    operator.ne, operator.lt, operator.le, operator.gt, operator.ge, pow,
)  # fmt: skip
UNARY = (
    operator.neg, operator.pos, abs, int, float, str, repr, bool, round, math.floor, math.ceil, math.trunc,
    lambda number: round(number, 2), lambda number: f"{number:.3f}", lambda number: pow(number, 3, 7),
)  # fmt: skip


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives or raises, with the type that scripts see."""
    try:
        return said(function(*arguments))
    except Exception as error:
        if "argument" in str(error):  # a wrong count of them is said of the guard
            return type(error)
        return type(error), str(error).replace("decimal.Decimal", "Decimal")


def said(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(said, value))
    assert type(value) is not decimal.Decimal or not said.ours  # type: ignore[attr-defined]
    return ("Decimal", str(value)) if isinstance(value, decimal.Decimal) else (type(value), repr(value))


def both(compute: Callable[[type[decimal.Decimal]], Any]) -> tuple[Any, Any]:
    said.ours = False  # type: ignore[attr-defined]
    expected = compute(decimal.Decimal)
    said.ours = True  # type: ignore[attr-defined]
    return compute(Decimal), expected


def is_refused(found: Any) -> bool:
    return isinstance(found, tuple) and found[0] is LimitError


@pytest.mark.parametrize("operation", OPERATORS, ids=lambda one: one.__name__)
def test_operators_are_those_of_python(operation: Callable[..., Any]) -> None:
    refused = 0
    for text in NUMBERS:
        for other in (*OTHERS, *[(number,) for number in NUMBERS]):
            for swapped in (False, True):

                def compute(kind: Any, text: str = text, other: Any = other, swapped: bool = swapped) -> Any:
                    pair = [kind(text), kind(*other) if isinstance(other, tuple) else other]
                    return outcome(operation, *(reversed(pair) if swapped else pair))

                found, expected = both(compute)
                refused += is_refused(found)
                assert found == expected or is_refused(found), (text, other, swapped)
    # a large exponent takes long; nothing else is refused
    assert refused == 0 or operation is pow


def test_functions_and_methods_are_those_of_python() -> None:
    for text in NUMBERS:
        for function in UNARY:
            found, expected = both(lambda kind, text=text, function=function: outcome(function, kind(text)))
            assert found == expected
        for name in ATTRIBUTES[Decimal]:
            for arguments in ((), (1,), (Decimal("2.00"),), (2.5,), (None,)):

                def call(kind: Any, text: str = text, name: str = name, arguments: Any = arguments) -> Any:
                    return outcome(getattr(kind(text), name), *arguments)

                if name != "as_tuple":
                    found, expected = both(call)
                    assert found == expected, (text, name, arguments)


@pytest.mark.parametrize(
    "compute",
    [
        lambda one, long: one + long, lambda one, long: long - one, lambda one, long: one == long,
        lambda one, long: long < one, lambda one, long: one in [long], lambda one, long: max(one, long),
        lambda one, long: sorted([one, long]), lambda one, long: one.max(long), lambda one, long: one.max(other=long),
        lambda one, long: one % long, lambda one, long: long**one, lambda one, long: pow(one, 2, long),
        lambda one, long: {hash(one): 1} and one.compare(long), lambda _, long: to_decimal(long),
    ],
)  # fmt: skip
def test_a_long_integer_is_refused(compute: Callable[[Decimal, int], Any]) -> None:
    with pytest.raises(LimitError, match=r"integer of more than 20000 bits|exponent"):
        compute(to_decimal("1.5"), 1 << 60_000)


@pytest.mark.parametrize("compute", [int, round, math.floor, "{:f}".format, "%d".__mod__, lambda large: large // 3])
def test_digits_that_would_fill_the_memory_are_refused(compute: Callable[[Decimal], Any]) -> None:
    with pytest.raises(LimitError, match="the Decimal is too large"):
        compute(to_decimal("1e999999"))
