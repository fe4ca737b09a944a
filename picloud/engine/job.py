"""What the engine is asked to run, and what came of it."""

from __future__ import annotations

from typing import NamedTuple

from picloud.engine.author_errors import STOPPED
from picloud.engine.events import Event
from picloud.engine.sandbox import CompiledScript
from picloud.sdk.response import Response
from picloud.types import (
    AppId,
    Effects,
    ExecutionId,
    ExecutionStatus,
    Json,
    LogLine,
    NewMessage,
    ScriptError,
    TriggerId,
)


class Job(NamedTuple):
    """One script with one event. A tuple: one is made for every message, and a frozen dataclass takes 2 µs more."""

    app_id: AppId
    app_name: str
    script: CompiledScript
    version: int
    event: Event
    key: object = None
    """The caller's own, to find its way back from the outcome."""
    trigger_depth: int = 0
    root_execution_id: ExecutionId | None = None
    """None: this execution is the root of what it causes."""
    request_id: str | None = None
    principal: str | None = None
    trigger_id: TriggerId | None = None
    attempt: int = 1
    parent_execution_id: ExecutionId | None = None
    """What sent or asked for what is worked on; None: the root itself, or nothing of ours."""


class Call(NamedTuple):
    """One script that another called by `invoke`: an execution within an execution."""

    execution_id: ExecutionId
    parent_execution_id: ExecutionId
    script: str
    version: int
    trigger_depth: int
    started_at: float
    """Seconds since the epoch."""
    duration: float
    """Seconds."""
    cpu: float
    """Seconds."""
    status: ExecutionStatus
    error: ScriptError | None


class Outcome(NamedTuple):
    """What one execution left."""

    job: Job
    execution_id: ExecutionId
    ok: bool
    value: Json
    """The returned value, or a Response's body; None when not ok."""
    error: ScriptError | None
    effects: Effects
    """What to commit together with the acknowledgement; empty when not ok."""
    logs: tuple[LogLine, ...]
    duration: float
    """Seconds."""
    cpu: float
    """Seconds of CPU time that its thread spent."""
    cancelled: bool = False
    """Stopped by the shutdown of the engine: to be released and run again, not a failure."""
    response: Response | None = None
    """Where the handler returned one."""
    discarded_by: str | None = None
    """Who had it stopped and wants what it worked on gone, not tried again."""
    started_at: float = 0.0
    """Seconds since the epoch."""
    calls: tuple[Call, ...] = ()
    """What was called by `invoke`, in the order in which it ended."""

    @property
    def status(self) -> ExecutionStatus:
        """How it ended, as far as the engine knows."""
        if self.ok:
            return "ok"
        return "cancelled" if self.cancelled else find_status(self.error)

    def fail(self, error: ScriptError) -> Outcome:
        """Return what this becomes when its effects were refused."""
        return self._replace(ok=False, value=None, response=None, effects=Effects(), error=error)

    @property
    def messages(self) -> tuple[NewMessage, ...]:
        """What the handler sent."""
        return self.effects.messages


class Cancel(NamedTuple):
    """A wish that an execution ends."""

    by: str
    """Whose: the name of a token."""
    discard: bool = False
    """What it worked on is not to be tried again."""

    @property
    def reason(self) -> str:
        """What the author is told."""
        return f"cancelled by '{self.by}'"


class RunningExecution(NamedTuple):
    """An execution that has not ended yet."""

    id: ExecutionId
    job: Job
    started_at: float
    """Seconds since the epoch, by this node's clock."""
    stopping: bool = False
    """It was told to end, and does at its next tick."""


def find_status(error: ScriptError | None) -> ExecutionStatus:
    """Return what kind of failure an error is."""
    if error is not None and error.type == "Cancelled" and error.message.startswith("cancelled by '"):
        return "cancelled"
    if error is None or error.type != STOPPED:
        return "error"
    if error.message.startswith(("ran past", "used more than")):
        return "timeout"
    return "memory" if error.message.startswith(("allocated more than", "the process grew")) else "error"
