"""One execution: a script with an event, and whatever it calls by `invoke`."""

from __future__ import annotations

import time
import weakref
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, cast

from uuid_utils.compat import uuid7

from picloud.engine.author_errors import describe_error, describe_stop
from picloud.engine.calling import check_depth, copy_args, encode_call, resolve
from picloud.engine.effects import UnitOfWork
from picloud.engine.events import Event, InvokeEvent
from picloud.engine.job import Call, find_status
from picloud.engine.logs import LogBuffer
from picloud.engine.offering import Offering
from picloud.engine.sandbox import CompiledScript, Meter, export_value, run_script
from picloud.errors import EngineClosed
from picloud.sdk.response import Response
from picloud.types import ExecutionId, ExecutionStatus, Json, LogLine, NewInvocation, ScriptError

if TYPE_CHECKING:
    from picloud.engine.engine import Engine
    from picloud.engine.job import Job

MAX_CALLS = 500
"""Calls by `invoke` of one run that are recorded."""


class Run:
    """What the execution of a job and all that it invokes have in common: meter, effects, logs."""

    __slots__ = (
        "_calls",
        "_calls_dropped",
        "_engine",
        "_logs",
        "callee_id",
        "execution_id",
        "job",
        "meter",
        "root_id",
        "scripts",
        "unit",
    )
    root_id: ExecutionId
    execution_id: ExecutionId
    """Of the script that was started."""

    def __init__(self, engine: Engine, job: Job) -> None:
        # weak: a script's leftovers (a generator, an exception) must not keep an engine that was shut down
        self._engine = weakref.ref(engine)
        self._logs: LogBuffer | None = None
        self.job = job
        self.meter = Meter(engine.limits, on_line=self._print)
        self.meter.clock = engine.clock
        self.unit = UnitOfWork(engine.settings.max_effects)
        self.scripts: dict[str, CompiledScript] = {job.script.filename: job.script}
        self.callee_id: ExecutionId | None = None
        self._calls: list[Call] | None = None
        self._calls_dropped = 0

    def engine(self) -> Engine:
        """Return the engine.

        Raises: EngineClosed when it was shut down.
        """
        engine = self._engine()
        if engine is None or engine.closed:
            raise EngineClosed("picloud was shut down while this handler was running")
        return engine

    def make_room(self, count: int) -> None:
        """Stop the run when it asks for more effects than it may."""
        limit = self.engine().settings.max_effects
        if not self.unit.has_room(count):
            self.meter.stop(f"asked for more than {limit:,} effects")
            self.meter.check()

    def logs(self) -> LogBuffer:
        if self._logs is None:
            limits = self.meter.limits
            self._logs = LogBuffer(limits.log_lines, limits.log_bytes)
        return self._logs

    def log_lines(self) -> tuple[LogLine, ...]:
        """Return what was logged and printed, once the run is over."""
        if self._calls_dropped:
            self.logs().add("warning", f"{self._calls_dropped} more calls by invoke not recorded: past {MAX_CALLS}")
        dropped = self.meter.lines_dropped
        return self.logs().lines(dropped) if dropped or self._logs is not None else ()

    def parent_id(self) -> ExecutionId | None:
        """Return what sends or asks now, as it is stored: None where that is the root itself."""
        sender = self.callee_id or self.execution_id
        return None if sender == self.root_id else sender

    def calls(self) -> tuple[Call, ...]:
        """Return what was called by `invoke`."""
        return () if self._calls is None else tuple(self._calls)

    def add_call(self, call: Call) -> None:
        """Keep what was called; of a flood only the first."""
        if self._calls is None:
            self._calls = [call]
        elif len(self._calls) < MAX_CALLS:
            self._calls.append(call)
        else:
            self._calls_dropped += 1

    def _print(self, line: str) -> None:
        self.logs().add("info", line, callee_id=self.callee_id)


class Execution:
    """One script's part of a run: its id, its depth, its context and its names."""

    __slots__ = ("depth", "id", "run", "script", "version")
    run: Run

    def __init__(self, run: Run, script: CompiledScript, version: int, depth: int) -> None:
        self.run = run
        self.script = script
        self.version = version
        self.depth = depth
        self.id = cast("ExecutionId", uuid7())

    def handle(self, event: Event) -> object:
        """Run the script's `handle`; return its value as it is, which only `export` may look at."""
        offering = Offering(self)
        return run_script(
            self.script,
            meter=self.run.meter,
            args=(event, Context(self)),
            names=offering.names(self.script.mentions),
            modules=offering,
        )

    def invoke(self, target: str, args: Json = None, *, method: str | None = None) -> Json:
        """Run another script as a callee: same thread, meter and unit of work; return a copy of its value.

        Raises: InvokeError, what the callee raises.
        """
        run = self.run
        with run.meter.host():
            engine = run.engine()
            depth = self.depth + 1
            # before the target is looked at: an endless chain must not cost a look-up per level
            check_depth(depth, engine.settings.max_trigger_depth)
            script = resolve(engine.world, run.job, target, method)
            compiled = engine.compile(script.name, script.source)
            run.scripts[compiled.filename] = compiled
        event = InvokeEvent(copy_args(args, run.meter), self.script.name)
        return Execution(run, compiled, script.version, depth)._answer(event, self)

    def _answer(self, event: Event, caller: Execution) -> Json:
        """Run as the callee of `caller`, and note how that went."""
        run = self.run
        mark = run.unit.mark()
        status: ExecutionStatus = "ok"
        error: ScriptError | None = None
        started_at, cpu_at, at = time.time(), time.thread_time(), time.perf_counter()
        outer, run.callee_id = run.callee_id, self.id
        try:
            return export_result(self.handle(event), run.meter)[0]
        except Exception as failure:
            run.unit.take_back(mark)
            status, error = "error", describe_error(failure, self.script, run.scripts)
            raise
        except BaseException as stop:
            run.unit.take_back(mark)
            error = describe_stop(stop, run.meter.reason or str(stop), self.script, run.scripts)
            status = find_status(error)
            raise
        finally:
            run.callee_id = outer
            took = time.perf_counter() - at, time.thread_time() - cpu_at
            run.add_call(
                Call(self.id, caller.id, self.script.name, self.version, self.depth, started_at, *took, status, error)
            )

    def invoke_async(self, target: str, args: Json = None, *, method: str | None = None) -> str:
        """Have another script run later, once, after this execution's effects are committed; return the delivery's id.

        Raises: InvokeError.
        """
        run = self.run
        text = encode_call(args, self.script.name, run.meter, run.engine().settings.max_payload_bytes)
        run.meter.charge(len(text))
        with run.meter.host():
            engine = run.engine()
            depth = self.depth + 1
            check_depth(depth, engine.settings.max_trigger_depth)
            script = resolve(engine.world, run.job, target, method)
            run.make_room(1)
            invocation = NewInvocation(
                uuid7(), script.id, text, depth, run.root_id, run.parent_id(), run.job.request_id
            )
            run.unit.record_invocation(invocation)
        return str(invocation.id)


class Context:
    """What a handler may know of its own execution."""

    __slots__ = ("_execution",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset(
        {
            "app",
            "script",
            "version",
            "execution_id",
            "root_execution_id",
            "request_id",
            "trigger_depth",
            "principal",
            "deadline",
            "remaining_secs",
        }
    )

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    @property
    def app(self) -> str:
        return self._execution.run.job.app_name

    @property
    def script(self) -> str:
        return self._execution.script.name

    @property
    def version(self) -> int:
        return self._execution.version

    @property
    def execution_id(self) -> str:
        return str(self._execution.id)

    @property
    def root_execution_id(self) -> str:
        return str(self._execution.run.root_id)

    @property
    def request_id(self) -> str | None:
        return self._execution.run.job.request_id

    @property
    def trigger_depth(self) -> int:
        """How many triggers and invokes led here."""
        return self._execution.depth

    @property
    def principal(self) -> str | None:
        return self._execution.run.job.principal

    @property
    def deadline(self) -> datetime:
        """When the execution is stopped."""
        return datetime.now(UTC) + timedelta(seconds=self._execution.run.meter.remaining())

    def remaining_secs(self) -> float:
        """Return the seconds until the deadline."""
        return self._execution.run.meter.remaining()


def export_result(value: object, meter: Meter) -> tuple[Json, Response | None]:
    """Return a handler's value as JSON data of its own, and the Response where it returned one.

    Raises: ExportError, LimitError; what the author's code raises while it is looked at.
    """
    if value is None:
        return None, None
    if type(value) is Response:
        body = export_value(value.body, path="result.body", meter=meter)
        if type(value.body) is bytes:
            # a caller of `invoke` gets base64, a client of HTTP the bytes
            # made anew, and so checked: its headers may have been changed since
            return body, Response(value.body, value.status, value.headers)
        return body, Response(body, value.status, value.headers)
    return export_value(value, path="result", meter=meter), None
