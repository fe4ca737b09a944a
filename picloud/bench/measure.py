"""Run cases several times, in alternation, and report medians."""

from __future__ import annotations

import os
import platform
import resource
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from picloud.types import Json
from picloud.version import __version__


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure; `run` returns one figure."""

    name: str
    unit: str
    run: Callable[[], Awaitable[float]]
    params: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """The median of all counted runs of a case."""

    case: str
    value: float
    min: float
    max: float
    unit: str
    runs: int
    ratios: Mapping[str, float]
    params: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        """Return the figures as `--json` prints them."""
        return {
            "case": self.case,
            "value": _shorten(self.value),
            "min": _shorten(self.min),
            "max": _shorten(self.max),
            "unit": self.unit,
            "runs": self.runs,
            "ratios": dict(self.ratios),
            "params": dict(self.params),
        }


async def measure(
    cases: Sequence[Case], *, runs: int, on_run: Callable[[str, float], None], warm_up: int = 1
) -> list[Result]:
    """Run each case `warm_up` + `runs` times, the cases in turn, so that a drift of the machine hits all alike."""
    figures: dict[str, list[float]] = {case.name: [] for case in cases}
    for round_ in range(warm_up + runs):
        for case in cases:
            figure = await case.run()
            on_run(case.name, figure)
            if round_ >= warm_up:
                figures[case.name].append(figure)
    return [_summarise(case, figures[case.name]) for case in cases]


def report(suite: str, postgres: str | None, started_at: datetime, results: Sequence[Result]) -> dict[str, Json]:
    """Return the object that `--json` prints."""
    return {
        "suite": suite,
        "picloud": __version__,
        "python": platform.python_version(),
        "postgres": postgres,
        "cpus": os.cpu_count(),
        "started_at": started_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "results": [result.to_json() for result in results],
    }


def read_resident_bytes() -> int:
    """Return how much memory this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _summarise(case: Case, figures: Sequence[float]) -> Result:
    return Result(
        case.name,
        statistics.median(figures),
        min(figures),
        max(figures),
        case.unit,
        len(figures),
        {},
        case.params,
    )


def _shorten(figure: float) -> float:
    return float(f"{figure:.4g}") if abs(figure) < 1000 else round(figure, 1)
