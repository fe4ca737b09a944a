"""The engine: runs jobs in the threads that its callers give it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from picloud.engine.author_errors import describe_error, describe_stop
from picloud.engine.effects import NO_EFFECTS
from picloud.engine.execution import Execution, Run, export_result
from picloud.engine.http_client import HttpClient, HttpSender
from picloud.engine.job import Job, Outcome
from picloud.engine.sandbox import BudgetExceeded, CompileCache, CompiledScript, Meter, Seat, Watchdog
from picloud.engine.settings import EngineSettings
from picloud.engine.world import World
from picloud.errors import EngineClosed
from picloud.sdk.response import Response
from picloud.types import ExecutionId, Json, ScriptError

SHUT_DOWN = "the server is shutting down"


class Engine:
    """Compiles scripts and runs jobs; one watchdog for all threads.

    `compile`, `run_slice` and `stop_all` may be called from any thread.
    """

    def __init__(self, settings: EngineSettings, world: World) -> None:
        self.settings = settings
        self.world = world
        self.limits = settings.limits()
        self.closed = False
        self.http: HttpSender = HttpClient()
        self.clock: Callable[[], float] = time.time
        """What scripts see as the time; a test may set it."""
        self._stopping: str | None = None
        self._cache = CompileCache(settings.max_cached_scripts)
        self._watchdog = Watchdog()
        self._slices: set[_Slice] = set()
        self._lock = threading.Lock()

    def compile(self, name: str, source: str) -> CompiledScript:
        """Return the script's code, from the cache where it was compiled before.

        Raises: ScriptInvalid with every fault.
        """
        return self._cache.get(source, name)

    def run_slice(self, jobs: Sequence[Job], *, slice_secs: float) -> list[Outcome]:
        """Run jobs in order, at least one, until `slice_secs` are over; what is missing in the answer was not run.

        Blocks: only on a worker thread. Nothing a handler does raises here. An engine that was told to stop runs none.
        Raises: EngineClosed.
        """
        if self.closed:
            raise EngineClosed("the engine was shut down")
        until = time.perf_counter() + slice_secs
        outcomes: list[Outcome] = []
        with self._watchdog.seat() as seat:
            slice_ = _Slice(self, seat)
            with self._lock:
                self._slices.add(slice_)
            try:
                for job in jobs:
                    if self._stopping is not None:
                        break
                    outcomes.append(slice_.run(job))
                    if slice_.at >= until:
                        break
            finally:
                with self._lock:
                    self._slices.discard(slice_)
        return outcomes

    def stop_all(self, reason: str = SHUT_DOWN) -> None:
        """Stop what runs at its next tick, and run nothing more; those outcomes are cancelled."""
        with self._lock:
            self._stopping = self._stopping or reason
            running = list(self._slices)
        for slice_ in running:
            slice_.stop(reason)

    def stop_reason(self) -> str | None:
        """Return why `stop_all` was called, or None."""
        return self._stopping

    def close(self) -> None:
        """Stop everything for good; the SDK of a handler that is still running refuses from now on."""
        self.stop_all()
        self.closed = True
        self._watchdog.close()


class _Slice:
    """The jobs that one thread runs in a row."""

    __slots__ = ("__weakref__", "_cpu_at", "_engine", "_meter", "_seat", "at")

    def __init__(self, engine: Engine, seat: Seat) -> None:
        self._engine = engine
        self._seat = seat
        self._meter: Meter | None = None
        # one job ends when the next begins: asking for the thread's CPU time is a system call
        self.at = time.perf_counter()
        self._cpu_at = time.thread_time()

    def stop(self, reason: str) -> None:
        meter = self._meter
        if meter is not None:
            meter.stop(reason)

    def run(self, job: Job) -> Outcome:
        engine = self._engine
        run = Run(engine, job)
        execution = Execution(run, job.script, job.version, job.trigger_depth)
        run.root_id = job.root_execution_id or execution.id
        self._meter = run.meter
        # asked after the meter is in its place: a stop_all in between finds one or the other
        stopping = engine.stop_reason()
        if stopping is not None:
            run.meter.stop(stopping)
        try:
            result = self._seat.run(run.meter, _handle, execution)
        except BudgetExceeded as stop:
            reason = run.meter.reason or str(stop)
            result = _Result(None, None, describe_stop(stop, reason, job.script, run.scripts))
        finally:
            self._meter = None
        cancelled = result.error is not None and _is_shutdown(engine, run.meter)
        return _outcome(execution, result, cancelled, *self._take_time())

    def _take_time(self) -> tuple[float, float]:
        """Return the seconds and those of CPU since the last time."""
        at, cpu_at = time.perf_counter(), time.thread_time()
        took = at - self.at, cpu_at - self._cpu_at
        self.at, self._cpu_at = at, cpu_at
        return took


class _Result(NamedTuple):
    value: Json
    response: Response | None
    error: ScriptError | None


def _handle(execution: Execution) -> _Result:
    """Run a job under its meter; whatever may run the author's code is done in here."""
    run = execution.run
    try:
        value, response = export_result(execution.handle(run.job.event), run.meter)
        return _Result(value, response, None)
    except Exception as error:
        return _Result(None, None, describe_error(error, execution.script, run.scripts))


def _is_shutdown(engine: Engine, meter: Meter) -> bool:
    return meter.reason is not None and meter.reason == engine.stop_reason()


def _outcome(execution: Execution, result: _Result, cancelled: bool, duration: float, cpu: float) -> Outcome:
    run = execution.run
    ok = result.error is None
    return Outcome(
        job=run.job,
        execution_id=ExecutionId(execution.id),
        ok=ok,
        value=result.value,
        error=result.error,
        effects=run.unit.effects() if ok else NO_EFFECTS,
        logs=run.log_lines(),
        duration=duration,
        cpu=cpu,
        cancelled=cancelled,
        response=result.response,
    )
