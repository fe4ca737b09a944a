"""The engine suite: what an execution costs, and how much slower than plain CPython a script is in the sandbox."""

from __future__ import annotations

import contextlib
import hashlib
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from types import CodeType
from typing import Any
from uuid import UUID

import trio

from picloud.bench import engine_scripts as scripts
from picloud.bench.measure import Case
from picloud.engine import EmptyWorld, Engine, EngineSettings, Job
from picloud.engine.sandbox import (
    CompiledScript,
    Limits,
    Meter,
    Seat,
    Watchdog,
    compile_script,
    prepare_process,
    run_script,
)
from picloud.types import AppId, Script, ScriptId

APP = AppId(UUID(int=1))
PAIRS = 7
"""Samples of a ratio: in the sandbox and plain in turn."""
SAMPLE_SECS = 0.01
"""How long a plain sample takes at least."""
SPINNERS = 16
WAKE_EVERY = 0.005
"""Seconds between two wakes of the loop whose lateness is measured."""
WIDE = Limits(wall=600.0, cpu=None, memory_bytes=1 << 40, memory_growth_bytes=1 << 40)
"""Limits that no sample comes near to: they are tested all the same."""


def engine_cases(*, seconds: float) -> list[Case]:
    """Return the cases of the suite; sets this process up as a node is."""
    prepare_process()
    lines = {"lines": scripts.TYPICAL.count("\n")}
    spin = seconds / 10
    return [
        Case("noop", "µs", noop),
        Case("typical", "ratio", partial(ratio, "typical", scripts.TYPICAL), lines),
        Case("attribute-calls", "ratio", partial(ratio, "attribute-calls", scripts.ATTRIBUTE_CALLS)),
        Case("arithmetic", "ratio", partial(ratio, "arithmetic", scripts.ARITHMETIC)),
        Case("calls", "ratio", partial(ratio, "calls", scripts.CALLS)),
        Case("strings", "ratio", partial(ratio, "strings", scripts.STRINGS)),
        Case("json", "ratio", partial(ratio, "json", scripts.JSON)),
        Case("compile", "ms", compile_uncached, lines),
        Case("invoke", "µs", invoke),
        Case("loop-lateness", "ms", partial(loop_lateness, spin), {"spinning": SPINNERS, "seconds": spin}),
    ]


async def noop(count: int = 1000) -> float:
    """Return the median of microseconds from a job to its outcome, each job a slice of its own."""
    with _engine() as engine:
        job = _job(engine, "noop", scripts.NOOP)
        return 1e6 * _median(lambda: engine.run_slice([job], slice_secs=1.0), count)


async def ratio(name: str, source: str) -> float:
    """Return time in the sandbox / time in plain CPython: fresh globals, the module's body and `handle`."""
    compiled = compile_script(source, name)
    code = compile(source, name, "exec")
    args = (scripts.make_event(), None)
    plain = partial(_run_plainly, code, args)
    watchdog = Watchdog()
    ratios = []
    with contextlib.closing(watchdog), watchdog.seat() as seat:
        sandboxed = partial(_run_sandboxed, seat, compiled, args)
        if sandboxed() != plain():
            raise RuntimeError(f"{name}: the sandbox does not give what CPython gives")
        calls = 1 + int(SAMPLE_SECS / _time(plain, 1))
        for _ in range(PAIRS):
            inside = _time(sandboxed, calls)
            ratios.append(inside / _time(plain, calls))
    return statistics.median(ratios)


async def compile_uncached(count: int = 20) -> float:
    """Return the median of milliseconds from a source of fifty lines to code that may run."""
    return 1e3 * _median(lambda: compile_script(scripts.TYPICAL, "typical"), count)


async def invoke(count: int = 2000) -> float:
    """Return microseconds per nested invoke of a script that does nothing and is compiled already."""
    with _engine() as engine:
        job = _job(engine, "caller", scripts.INVOKE, count)
        return 1e6 * _median(lambda: _expect_success(engine, job), 3) / count


async def loop_lateness(spin: float) -> float:
    """Return by how many milliseconds a loop woke too late at worst, while other threads spin in scripts."""
    with _engine(timeout_secs=spin) as engine:
        job = _job(engine, "spin", scripts.SPIN)
        limiter = trio.CapacityLimiter(SPINNERS)
        worst = 0.0
        async with trio.open_nursery() as nursery:
            for _ in range(SPINNERS):
                run = partial(engine.run_slice, [job], slice_secs=spin)
                nursery.start_soon(partial(trio.to_thread.run_sync, run, limiter=limiter))
            until = trio.current_time() + spin
            while trio.current_time() < until:
                due = trio.current_time() + WAKE_EVERY
                await trio.sleep_until(due)
                worst = max(worst, trio.current_time() - due)
    return 1e3 * worst


class _OneScript(EmptyWorld):
    """A world whose app has the script `noop` and nothing else."""

    def __init__(self) -> None:
        source = scripts.NOOP
        digest = hashlib.sha256(source.encode()).hexdigest()
        self._noop = Script(ScriptId(UUID(int=2)), APP, "noop", 1, source, digest, datetime.now(UTC))

    def find_script(self, app_id: AppId, name: str) -> Script | None:
        return self._noop if name == "noop" else None


@contextlib.contextmanager
def _engine(timeout_secs: float = 60.0) -> Iterator[Engine]:
    with contextlib.closing(Engine(EngineSettings(timeout_secs=timeout_secs), _OneScript())) as engine:
        yield engine


def _job(engine: Engine, name: str, source: str, payload: object = None) -> Job:
    return Job(APP, "bench", engine.compile(name, source), 1, scripts.make_event(payload))


def _expect_success(engine: Engine, job: Job) -> None:
    (outcome,) = engine.run_slice([job], slice_secs=1.0)
    if not outcome.ok:
        raise RuntimeError(f"the script {job.script.name} failed: {outcome.error}")


def _run_sandboxed(seat: Seat, compiled: CompiledScript, args: Sequence[object]) -> Any:
    """One execution, as the engine has it: its globals are freed at its end."""
    meter = Meter(WIDE)
    return seat.run(meter, partial(run_script, compiled, meter=meter, args=args))


def _run_plainly(code: CodeType, args: Sequence[object]) -> Any:
    scope: dict[str, Any] = {}
    exec(code, scope)
    return scope["handle"](*args)


def _time(run: Callable[[], object], calls: int) -> float:
    """Return seconds per call, of this thread's CPU: what else the machine does would be most of a short sample."""
    began = time.thread_time()
    for _ in range(calls):
        run()
    return (time.thread_time() - began) / calls


def _median(run: Callable[[], object], count: int) -> float:
    """Return the median of seconds of so many calls."""
    return statistics.median(_time(run, 1) for _ in range(count))
