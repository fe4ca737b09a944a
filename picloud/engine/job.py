"""What the engine is asked to run, and what came of it."""

from __future__ import annotations

from typing import NamedTuple

from picloud.engine.events import Event
from picloud.engine.sandbox import CompiledScript
from picloud.sdk.response import Response
from picloud.types import AppId, Effects, ExecutionId, Json, LogLine, NewMessage, ScriptError


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
