"""statistics: of numbers, few and short enough for its exact sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from picloud.engine.sandbox.decimals import Decimal, moderate, owned
from picloud.engine.sandbox.modules.collecting import counter
from picloud.engine.sandbox.sizes import bounded, walk
from picloud.engine.sandbox.stops import LimitError

MAX_NUMBERS: Final = 100_000
MAX_QUANTILES: Final = 10_000
MAX_NUMBER_BITS: Final = 4096
_NUMBERS: Final = frozenset([int, float, bool, Decimal])
_OF_NUMBERS: Final = "mean fmean geometric_mean harmonic_mean median median_low median_high".split()
_SPREADS: Final = "pstdev pvariance stdev variance".split()


class StatisticsError(ValueError):
    """statistics.StatisticsError."""


def _numbers(data: Iterable[Any]) -> list[Any]:
    """Return numbers whose exact sums stay short."""
    numbers = list(bounded(data, MAX_NUMBERS))
    if not _NUMBERS.issuperset(map(type, numbers)):
        raise TypeError("statistics needs numbers: int, float or Decimal")
    for number in numbers:
        if type(number) is int and number.bit_length() > MAX_NUMBER_BITS:
            raise LimitError(f"statistics takes integers of at most {MAX_NUMBER_BITS} bits")
        moderate(number)
    return walk(numbers)  # type: ignore[no-any-return]


def _computed(name: str, *arguments: Any, **options: Any) -> Any:
    import statistics  # it takes some milliseconds to load, and few scripts want it

    try:
        return owned(getattr(statistics, name)(*arguments, **options))
    except statistics.StatisticsError as error:
        raise StatisticsError(str(error)) from None


def _of_numbers(name: str) -> Callable[[Any], Any]:
    def apply(data: Any) -> Any:
        return _computed(name, _numbers(data))

    apply.__name__ = name
    return apply


def _spread(name: str) -> Callable[..., Any]:
    def apply(data: Any, center: Any = None) -> Any:
        return _computed(name, _numbers(data), None if center is None else _numbers([center])[0])

    apply.__name__ = name
    return apply


def quantiles(data: Any, *, n: int = 4, method: str = "exclusive") -> Any:
    """statistics.quantiles."""
    if type(n) not in (int, bool) or n > MAX_QUANTILES:
        raise LimitError(f"n must be a whole number of at most {MAX_QUANTILES}")
    if method not in ("exclusive", "inclusive"):
        raise ValueError("method must be 'exclusive' or 'inclusive'")
    return _computed("quantiles", _numbers(data), n=n, method=method)


def _counts(data: Any) -> list[tuple[Any, int]]:
    return list(counter(walk(list(bounded(data, MAX_NUMBERS)))).items())


def multimode(data: Any) -> list[Any]:
    """statistics.multimode."""
    counts = _counts(data)
    most = max([count for _, count in counts], default=0)
    return [value for value, count in counts if count == most]


def mode(data: Any) -> Any:
    """statistics.mode."""
    values = multimode(data)
    if not values:
        raise StatisticsError("no mode for empty data")
    return values[0]


FIGURES: Final[Mapping[str, Mapping[str, Any]]] = {
    "statistics": {
        **{name: _of_numbers(name) for name in _OF_NUMBERS},
        **{name: _spread(name) for name in _SPREADS},
        "quantiles": quantiles,
        "mode": mode,
        "multimode": multimode,
        "StatisticsError": StatisticsError,
    },
}
