"""random: one generator per execution, and those that a script makes of a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from picloud.engine.sandbox.limits import MAX_INT_BITS
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import SIZED, bounded, expect_items, expect_text
from picloud.engine.sandbox.stops import LimitError

_DISTRIBUTIONS: Final = (
    "random uniform randint randrange gauss normalvariate lognormvariate expovariate triangular paretovariate "
    "weibullvariate"
).split()


MAX_WEIGHT_BITS: Final = 1024


class Random:
    """random.Random: what it draws is bounded before it is drawn."""

    __slots__ = ("_random",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset(
        [*_DISTRIBUTIONS, "seed", "choice", "choices", "sample", "shuffle", "getrandbits", "randbytes"]
    )

    def __init__(self, x: Any = None, /) -> None:
        self._random = random.Random()
        if x is not None:
            self.seed(x)

    def __getattr__(self, name: str) -> Any:
        if name in _DISTRIBUTIONS:
            return getattr(self._random, name)
        raise AttributeError(name)

    def seed(self, a: Any = None, /) -> None:
        if type(a) not in (int, bool, str, float, bytes, type(None)):
            raise TypeError("The only supported seed types are: None,\nint, float, str, bytes, and bytearray.")
        self._random.seed(a)

    def choice(self, seq: Any) -> Any:
        if type(seq) not in SIZED:
            raise TypeError("choice needs a sequence")
        return self._random.choice(seq)

    def choices(self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list[Any]:
        expect_items(k)
        numbers = [_weights(weights), _weights(cum_weights)]
        return self._random.choices(list(bounded(population)), numbers[0], cum_weights=numbers[1], k=k)

    def sample(self, population: Any, k: int) -> list[Any]:
        expect_items(k)
        return self._random.sample(population if type(population) in SIZED else list(bounded(population)), k)

    def shuffle(self, x: list[Any]) -> None:
        if type(x) is not list:
            raise TypeError("shuffle needs a list")
        self._random.shuffle(x)

    def getrandbits(self, k: int, /) -> int:
        if type(k) is int and k > MAX_INT_BITS:
            raise LimitError(f"the integer has more than {MAX_INT_BITS} bits")
        return self._random.getrandbits(k)

    def randbytes(self, n: int) -> bytes:
        expect_text(n)
        if 8 * n > MAX_INT_BITS:
            raise LimitError(f"more than {MAX_INT_BITS // 8} random bytes")
        return self._random.randbytes(n)


def _weights(weights: Any) -> list[Any] | None:
    if weights is None:
        return None
    numbers = list(bounded(weights))
    if not {int, float, bool}.issuperset(map(type, numbers)):
        raise TypeError("the weights must be numbers")
    longest = max([number.bit_length() for number in numbers if type(number) is int], default=0)
    if longest > MAX_WEIGHT_BITS:
        raise OverflowError("int too large to convert to float")
    expect_items(len(numbers) * max(1, longest // 64))  # their sums are made one by one
    return numbers


def _generator() -> Random:
    """The generator of the execution."""
    meter = current_meter()
    if meter.randomness is None:
        meter.randomness = Random()
    return meter.randomness  # type: ignore[no-any-return]


def _drawn(name: str) -> Callable[..., Any]:
    def draw(*arguments: Any, **named: Any) -> Any:
        return getattr(_generator(), name)(*arguments, **named)

    draw.__name__ = name
    return draw


RANDOMNESS: Final[Mapping[str, Mapping[str, Any]]] = {
    "random": {**{name: _drawn(name) for name in Random._sandbox_attrs_}, "Random": Random},
}
