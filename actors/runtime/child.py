"""One child of a supervisor, over all its incarnations."""

from __future__ import annotations

import time
from collections.abc import Callable
from json.encoder import encode_basestring as quote
from typing import Literal, Protocol

import trio

from picloud.actors.runtime.errors import Killed, NeverStarted, ShutdownTimeout
from picloud.actors.runtime.exits import Exit, describe_exit
from picloud.actors.runtime.health import Health
from picloud.actors.runtime.journal import ExitReport, Journal, ReportContext
from picloud.actors.runtime.record import Record, Status, encode_exit, encode_health
from picloud.actors.runtime.rfc3339 import format_time
from picloud.actors.runtime.spec import ChildSpec


class Parent(Protocol):
    """What a child needs of its supervisor."""

    @property
    def path(self) -> str: ...

    @property
    def journal(self) -> Journal: ...


class Child:
    """State of one child, and the steps of its life: begin, run_once, ask_to_stop, end_now.

    At most one incarnation is alive: `begin` creates its cancel scope, the kill switch; `finish` clears it.
    The scope is shielded, so that cancelling a supervisor reaches its children only through the supervisor, in order.
    Ten thousand of these may exist: what is rare is created when it is needed.
    """

    __slots__ = (
        "_changed",
        "_scope",
        "asked",
        "error",
        "incarnation",
        "last_exit",
        "last_started",
        "parent",
        "record",
        "restart_count",
        "settled",
        "spec",
        "started_at",
        "started_clock",
        "status",
        "stuck",
    )

    def __init__(self, spec: ChildSpec, parent: Parent) -> None:
        self.spec = spec
        self.parent = parent
        self.status: Status = "stopped"
        self.incarnation = 0
        self.settled = 0
        """The latest incarnation that has started or ended."""
        self.last_started = 0
        """The latest incarnation that has said that it started."""
        self.restart_count = 0
        self.started_at: float | None = None
        self.started_clock = 0.0
        self.last_exit: Exit | None = None
        self.error: Exception | None = None
        """Of the latest incarnation that failed."""
        self.asked = False
        """The present incarnation was asked to stop."""
        self.stuck = False
        """It did not end when it was asked to, nor when it was cancelled."""
        self.record: Record | None = None
        """What the tree shows of this state, once it was needed."""
        self._scope: trio.CancelScope | None = None
        self._changed: trio.Event | None = None

    @property
    def path(self) -> str:
        """The parent's path, a slash and the id."""
        return f"{self.parent.path}/{self.spec.id}"

    @property
    def is_alive(self) -> bool:
        """Whether a task runs, or rests, for this child."""
        return self._scope is not None

    def begin(self) -> None:
        """Open the next incarnation; `run_once` must follow in a task."""
        if self._scope is not None:
            raise AssertionError(f"{self.path} has an incarnation alive")
        self._scope = trio.CancelScope(shield=True)
        self.incarnation += 1
        self.asked = self.stuck = False
        self.change("starting")

    async def run_once(self) -> None:
        """Run the incarnation to its end and note how it ended; only what no supervisor may judge is raised."""
        scope = self._scope
        assert scope is not None
        error: Exception | None = None
        try:
            with scope:
                await self.spec.start(task_status=StartSignal(self))
        except Exception as crash:
            error = crash
        except BaseException as stop:
            self.finish(stop)
            raise
        if error is None and not self.asked:
            error = self._find_unmarked_error(scope)
        self.finish(error)

    def _find_unmarked_error(self, scope: trio.CancelScope) -> Exception | None:
        if scope.cancelled_caught:
            return Killed(f"incarnation {self.incarnation} of {self.path} was killed")
        if self.last_started < self.incarnation:
            return NeverStarted(f"{self.path} returned without task_status.started()")
        return None

    def mark_started(self) -> None:
        """Note that the incarnation says it is ready."""
        self.settled = self.last_started = self.incarnation
        self.started_at = time.time()
        self.started_clock = trio.current_time()
        self.change("stopping" if self.asked else "running")
        path = self.path
        self.parent.journal.events.emit("started", path, incarnation=self.incarnation)
        # now, not when somebody looks at ten thousand
        self.describe(path)

    def finish(self, error: BaseException | None, *, report: bool = True) -> None:
        """Note the end of the incarnation, and tell of it."""
        reason: Literal["error", "shutdown", "normal"]
        reason = "error" if error is not None else "shutdown" if self.asked else "normal"
        self.last_exit = ended = describe_exit(reason, error, time.time())
        if error is not None:
            self.error = error if isinstance(error, Exception) else None
        context = self._choose_context(error)
        self.settled = self.incarnation
        self._scope = None
        self.change("stopped")
        self._emit_end(ended)
        if report:
            self.report(context, error)

    def _choose_context(self, error: BaseException | None) -> ReportContext:
        if self.asked:
            return "shutdown" if error is None else "shutdown_error"
        return "child_terminated" if self.last_started == self.incarnation else "start_error"

    def _emit_end(self, ended: Exit) -> None:
        self.parent.journal.events.emit(
            "stopped" if self.asked else "exited",
            self.path,
            incarnation=self.incarnation,
            reason=ended.reason,
            error_type=ended.error_type,
            message=ended.message,
        )

    def report(self, context: ReportContext, error: BaseException | None) -> None:
        """Report an end, or that there is none, with OTP's fields."""
        ended = self.last_exit
        if error is not None:
            reason = f"{type(error).__name__}: {error}"
        else:
            reason = "normal" if ended is None else ended.reason
        parent, spec = self.parent, self.spec
        parent.journal.report(ExitReport(parent.path, context, reason, spec.id, spec.restart, self.incarnation, error))

    async def rest(self, status: Literal["backing_off", "parked"], seconds: float) -> None:
        """Wait between two incarnations until the time is over, `cut_rest` or `ask_to_stop`."""
        self._scope = trio.CancelScope(shield=True, deadline=trio.current_time() + seconds)
        self.change(status)
        with self._scope:
            await trio.sleep_forever()
        self._scope = None

    @property
    def is_resting(self) -> bool:
        """Whether the child waits for its next incarnation."""
        return self.status in ("backing_off", "parked")

    def cut_rest(self) -> None:
        """End the rest now."""
        if self._scope is not None and self.is_resting:
            self._scope.cancel()

    def ask_to_stop(self) -> float:
        """Ask the incarnation to end, by its hook or by cancelling it; return the seconds it may take."""
        scope, spec = self._scope, self.spec
        if scope is None:
            return 0.0
        if not self.asked:
            if spec.on_shutdown is None or spec.shutdown == 0 or self.is_resting:
                scope.cancel()
            else:
                self._call_hook(spec.on_shutdown, scope)
            self.asked = True
            self.change("stopping")
        return float("inf") if spec.shutdown is None else spec.shutdown

    def _call_hook(self, hook: Callable[[], None], scope: trio.CancelScope) -> None:
        try:
            hook()
        except Exception as error:
            scope.cancel()
            self.report("shutdown_error", error)

    def end_now(self) -> None:
        """Cancel the incarnation; a supervisor cancels all below it, too."""
        if self._scope is None:
            return
        self._scope.cancel()
        if not self.asked:
            self.asked = True
            self.change("stopping")
        if self.spec.type == "supervisor":
            kill = getattr(self.spec.introspect, "kill", None)
            if kill is not None:
                kill()

    def kill(self) -> None:
        """Cancel the incarnation without asking, as a crash: the supervisor then does what its strategy says."""
        if self._scope is not None and not self.is_resting:
            self._scope.cancel()

    def give_up_waiting(self, waited: float) -> None:
        """Report that the child does not end."""
        self.stuck = True
        self.change(self.status)
        self.report("shutdown_error", ShutdownTimeout(self.path, waited))

    def change(self, status: Status) -> None:
        """Set the status and wake whoever waits for a change."""
        self.status = status
        self.record = None
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def describe(self, path: str) -> Record:
        """Keep and return what there is to see of the child until its state changes."""
        spec, started_at, ended = self.spec, self.started_at, self.last_exit
        health = Health("ok", time.time() if started_at is None else started_at)
        running = self.is_alive and not self.is_resting and self.last_started == self.incarnation
        started = "null" if started_at is None else f'"{format_time(started_at)}"'
        text = (
            f'{{"id":{quote(spec.id)},"path":{quote(path)},"type":"{spec.type}","restart":"{spec.restart}"'
            f',"shutdown":{"null" if spec.shutdown is None else spec.shutdown},"status":"{self.status}"'
            f',"incarnation":{self.incarnation},"restart_count":{self.restart_count}'
            f',"started_at":{started},"last_exit":{"null" if ended is None else encode_exit(ended)}'
        )
        self.record = Record(
            spec.id,
            path,
            spec.type,
            spec.restart,
            spec.shutdown,
            self.status,
            self.incarnation,
            self.restart_count,
            started_at,
            ended,
            health,
            self.started_clock if running else None,
            text,
            encode_health(health),
        )
        return self.record

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds; it is looked at after each change of status."""
        while not condition():
            if self._changed is None:
                self._changed = trio.Event()
            await self._changed.wait()

    async def until_settled(self, incarnation: int) -> None:
        """Wait until an incarnation has started or ended."""
        await self.until(lambda: self.settled >= incarnation)


class StartSignal:
    """The `task_status` of one incarnation."""

    __slots__ = ("_child", "_incarnation")

    def __init__(self, child: Child) -> None:
        self._child = child
        self._incarnation = child.incarnation

    def started(self, value: None = None) -> None:
        """Say that the incarnation is ready."""
        if self._child.settled >= self._incarnation:
            raise RuntimeError("task_status.started() was called twice, or after the incarnation ended")
        self._child.mark_started()
