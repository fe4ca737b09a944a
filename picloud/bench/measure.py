"""Run cases several times, in alternation with what they are compared to, and report medians."""

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
class Figure:
    """What one run of a case measured."""

    value: float
    also: Mapping[str, float] = field(default_factory=dict)
    """Further figures of the same run, as `p99`."""
    ratios: Mapping[str, float] = field(default_factory=dict)


Run = Callable[[], Awaitable[float | Figure]]


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure."""

    name: str
    unit: str
    run: Run
    params: Mapping[str, Json] = field(default_factory=dict)
    rivals: Mapping[str, Run] = field(default_factory=dict)
    """What it is compared to, by the name of the ratio: each is run in turn with it."""
    is_long: bool = False
    """Run once, without a warm-up, and only where it is asked for by name."""


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
    also: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """Return the figures as `--json` prints them."""
        return {
            "case": self.case,
            "value": _shorten(self.value),
            **{name: _shorten(figure) for name, figure in self.also.items()},
            "min": _shorten(self.min),
            "max": _shorten(self.max),
            "unit": self.unit,
            "runs": self.runs,
            "ratios": {name: _shorten(ratio) for name, ratio in self.ratios.items()},
            "params": dict(self.params),
        }


class _Series:
    """The figures of one case, and of what it is compared to."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._own: list[Figure] = []
        self._rivals: dict[str, list[Figure]] = {name: [] for name in case.rivals}

    async def run(self, on_run: Callable[[str, float], None], *, counts: bool) -> None:
        own = await _run(self._case.run)
        on_run(self._case.name, own.value)
        if counts:
            self._own.append(own)
        for name, run in self._case.rivals.items():
            rival = await _run(run)
            on_run(f"{self._case.name} / {name}", rival.value)
            if counts:
                self._rivals[name].append(rival)

    def result(self) -> Result:
        case, values = self._case, [figure.value for figure in self._own]
        value = statistics.median(values)
        compared = {
            name: value / statistics.median([one.value for one in rivals]) for name, rivals in self._rivals.items()
        }
        also = _medians([figure.also for figure in self._own])
        for name, rivals in self._rivals.items():
            also |= {f"{name}_{key}": figure for key, figure in _medians([one.also for one in rivals]).items()}
        return Result(
            case.name,
            value,
            min(values),
            max(values),
            case.unit,
            len(values),
            {**_medians([figure.ratios for figure in self._own]), **compared},
            case.params,
            also,
        )


async def measure(
    cases: Sequence[Case], *, runs: int, on_run: Callable[[str, float], None], warm_up: int = 1
) -> list[Result]:
    """Run each case `warm_up` + `runs` times, the cases in turn, so that a drift of the machine hits all alike.

    Long ones run once, at the end.
    """
    series = [(case, _Series(case)) for case in cases]
    for round_ in range(warm_up + runs):
        for case, each in series:
            if not case.is_long:
                await each.run(on_run, counts=round_ >= warm_up)
    for case, each in series:
        if case.is_long:
            await each.run(on_run, counts=True)
    return [each.result() for _, each in series]


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


async def _run(run: Run) -> Figure:
    measured = await run()
    return measured if isinstance(measured, Figure) else Figure(measured)


def _medians(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: statistics.median([figures[name] for figures in rounds]) for name in rounds[0]}


def _shorten(figure: float) -> float:
    return float(f"{figure:.4g}") if abs(figure) < 1000 else round(figure, 1)
