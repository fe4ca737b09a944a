"""The engine: runs jobs in the threads that its callers give it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from picloud.engine.author_errors import STOPPED, describe_error, describe_stop
from picloud.engine.effects import NO_EFFECTS
from picloud.engine.execution import Execution, Run, export_result
from picloud.engine.http_client import HttpClient, HttpSender
from picloud.engine.job import Call, Cancel, Job, Outcome, RunningExecution
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
        self.cancelled = 0
        """How many executions were told to end because somebody asked for it."""
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

    def running(self) -> list[RunningExecution]:
        """Return what runs now, in no order; costs what runs nothing."""
        with self._lock:
            slices = list(self._slices)
        now, at = time.time(), time.perf_counter()
        return [found for slice_ in slices if (found := slice_.look(now, at)) is not None]

    def cancel(self, execution_id: ExecutionId, cancel: Cancel) -> bool:
        """Stop an execution at its next tick, as a deadline does; its outcome is a failure without effects.

        False: it does not run here, or not any more. True is no promise: it may end by itself before that tick.
        """
        with self._lock:
            slices = list(self._slices)
        if not any(slice_.cancel(execution_id, cancel) for slice_ in slices):
            return False
        self.cancelled += 1
        return True

    def close(self) -> None:
        """Stop everything for good; the SDK of a handler that is still running refuses from now on."""
        self.stop_all()
        self.closed = True
        self._watchdog.close()


class _Slice:
    """The jobs that one thread runs in a row."""

    __slots__ = ("__weakref__", "_asked", "_cpu_at", "_engine", "_epoch", "_execution", "_seat", "at")

    def __init__(self, engine: Engine, seat: Seat) -> None:
        self._engine = engine
        self._seat = seat
        self._execution: Execution | None = None
        """What runs now; other threads look at it."""
        self._asked: tuple[ExecutionId, Cancel] | None = None
        # one job ends when the next begins: asking for the thread's CPU time is a system call
        self.at = time.perf_counter()
        self._cpu_at = time.thread_time()
        self._epoch = time.time() - self.at

    def stop(self, reason: str) -> None:
        execution = self._execution
        if execution is not None:
            execution.run.meter.stop(reason)

    def look(self, now: float, at: float) -> RunningExecution | None:
        execution = self._execution
        if execution is None:
            return None
        stopping = execution.run.meter.reason is not None
        return RunningExecution(execution.id, execution.run.job, now - (at - self.at), stopping)

    def cancel(self, execution_id: ExecutionId, cancel: Cancel) -> bool:
        execution = self._execution
        if execution is None or execution.id != execution_id:
            return False
        self._asked = (execution_id, cancel)
        execution.run.meter.stop(cancel.reason)
        return True

    def run(self, job: Job) -> Outcome:
        engine = self._engine
        run = Run(engine, job)
        execution = Execution(run, job.script, job.version, job.trigger_depth)
        run.execution_id = execution.id
        run.root_id = job.root_execution_id or execution.id
        self._execution = execution
        # asked after the execution is in its place: a stop_all in between finds one or the other
        stopping = engine.stop_reason()
        if stopping is not None:
            run.meter.stop(stopping)
        try:
            result = self._seat.run(run.meter, _handle, execution)
        except BudgetExceeded as stop:
            reason = run.meter.reason or str(stop)
            result = _Result(None, None, describe_stop(stop, reason, job.script, run.scripts))
        finally:
            self._execution = None
        cancelled = result.error is not None and _is_shutdown(engine, run.meter)
        started_at = self._epoch + self.at
        outcome = _outcome(execution, result, cancelled, started_at, *self._take_time())
        return outcome if self._asked is None else self._obey(outcome, run.meter)

    def _obey(self, outcome: Outcome, meter: Meter) -> Outcome:
        """Say that somebody asked for the end, where that was what ended it."""
        asked, self._asked = self._asked, None
        if asked is None or asked[0] != outcome.execution_id or outcome.error is None:
            return outcome
        cancel = asked[1]
        if meter.reason != cancel.reason:
            return outcome
        error = outcome.error
        if error.type == STOPPED:
            error = replace(error, type="Cancelled")
        return outcome._replace(
            error=error,
            discarded_by=cancel.by if cancel.discard else None,
            calls=_cancel_stopped(outcome.calls),
        )

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


def _outcome(
    execution: Execution, result: _Result, cancelled: bool, started_at: float, duration: float, cpu: float
) -> Outcome:
    run = execution.run
    calls = run.calls()
    if cancelled:
        calls = _cancel_stopped(calls)
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
        started_at=started_at,
        calls=calls,
    )


def _cancel_stopped(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """Return calls of a run that was cancelled: what was stopped with it was cancelled, too."""
    return tuple(
        call._replace(status="cancelled") if call.error is not None and call.error.type == STOPPED else call
        for call in calls
    )
