"""Ids, states and frozen records that several rooms share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, NewType
from uuid import UUID

AppId = NewType("AppId", UUID)
ScriptId = NewType("ScriptId", UUID)
TriggerId = NewType("TriggerId", UUID)
MessageId = NewType("MessageId", UUID)
DeadLetterId = NewType("DeadLetterId", UUID)
ClaimToken = NewType("ClaimToken", UUID)
ExecutionId = NewType("ExecutionId", UUID)

BackoffShape = Literal["exponential", "linear", "constant"]
TriggerKind = Literal["http", "queue", "cron", "dead_letter", "email"]
MessageState = Literal["ready", "delayed", "claimed"]
DeadLetterReason = Literal["attempts_exhausted", "lease_expired", "cancelled", "expired"]
LogLevel = Literal["debug", "info", "warning", "error"]
RecordMode = Literal["all", "errors", "sampled"]
ExecutionStatus = Literal["ok", "error", "timeout", "memory", "cancelled", "lease_lost"]

Json = Any
"""A value that JSON carries: None, bool, int, float, str, list or dict with str keys."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One place where a script breaks the policy. Lines and columns count from 1; 0 means the whole file."""

    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One field of a request that cannot be accepted: in its body, or a parameter of its query."""

    message: str
    pointer: str | None = None
    """JSON pointer into the body."""
    parameter: str | None = None


@dataclass(frozen=True, slots=True)
class App:
    """A tenant: scripts, triggers and queues live in one."""

    id: AppId
    name: str
    created_at: datetime
    record_executions: RecordMode = "all"
    record_sample_rate: float = 0.01


@dataclass(frozen=True, slots=True)
class RecordPolicy:
    """Which executions of an app are recorded. What failed is, whatever the mode."""

    mode: RecordMode = "all"
    sample_rate: float = 0.01
    """Of `sampled`: the share of successes, from 0 to 1; what one root caused is kept or left out as a whole."""


@dataclass(frozen=True, slots=True)
class Script:
    """One Python source file of an app, at its current version."""

    id: ScriptId
    app_id: AppId
    name: str
    version: int
    source: str
    source_sha256: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class QueueRules:
    """What holds for a queue on all nodes together, its defaults and its retention."""

    fifo: bool = False
    """One message at a time, in the order they were sent."""
    max_in_flight: int | None = None
    """How many may be claimed at once; None: any number."""
    rate_per_second: float | None = None
    """How many may be claimed in a second; None: any number."""
    default_max_attempts: int | None = None
    """Of messages sent without; None: the trigger's `retry_max_attempts`."""
    message_retention_secs: int | None = None
    """How long a message may wait once it is due; then it is a dead letter: `expired`. None: for ever."""
    dead_retention_secs: int | None = None
    """How long dead letters are kept, resolved or not. None: open ones for ever, resolved ones as the node says."""


@dataclass(frozen=True, slots=True)
class QueueTrigger:
    """Binds a script to a queue: its one consumer."""

    id: TriggerId
    app_id: AppId
    app_name: str
    script_id: ScriptId
    script_name: str
    script_version: int
    queue_name: str
    enabled: bool
    visibility_timeout_secs: int
    retry_max_attempts: int
    retry_backoff: BackoffShape
    retry_base_ms: int
    batch_size: int
    concurrency: int
    last_fired_at: datetime | None
    created_at: datetime
    updated_at: datetime
    max_in_flight: int | None = None
    """Of its queue."""
    rate_per_second: float | None = None
    """Of its queue."""


class NewMessage(NamedTuple):
    """A message on its way into a queue. `payload` is JSON text that passed `encode_payload`."""

    id: MessageId
    queue_name: str
    payload: str
    delay: float = 0.0
    """Seconds from the insert, by the database's clock; ignored when `deliver_after` is given."""
    deliver_after: datetime | None = None
    priority: int = 0
    max_attempts: int | None = None
    """None: the queue trigger's `retry_max_attempts`, or 3 where there is no trigger yet."""
    dedup_key: str | None = None
    group_key: str | None = None
    """Of the messages of one key only one is claimed at a time, in order."""
    trigger_depth: int = 0
    root_execution_id: ExecutionId | None = None
    parent_execution_id: ExecutionId | None = None
    """What sent it; None: the root itself, or nothing of ours."""
    request_id: str | None = None
    """Of the request that began it all, if one did."""


@dataclass(frozen=True, slots=True)
class KvWrite:
    """A change of one key on its way into the database."""

    kind: Literal["set", "delete", "increment"]
    key: str
    value: str | None = None
    """JSON text, of a set."""
    amount: int | float = 0
    """Of an increment."""
    if_version: int | None = None
    """The version that the key must have, 0 for none; None: any."""


@dataclass(frozen=True, slots=True)
class KvEntry:
    """What a key holds. `value` is JSON text; version 0 and None where there is nothing."""

    value: str | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class NewInvocation:
    """A script that is to run later, once, on its way into the outbox. `event` is JSON text."""

    id: UUID
    script_id: ScriptId
    event: str
    trigger_depth: int
    root_execution_id: ExecutionId | None = None
    parent_execution_id: ExecutionId | None = None
    """None: the root itself."""
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """All that one execution asked for, to be committed together with what it worked on."""

    messages: tuple[NewMessage, ...] = ()
    writes: tuple[KvWrite, ...] = ()
    invocations: tuple[NewInvocation, ...] = ()

    @property
    def are_messages_only(self) -> bool:
        """Whether one statement can commit them with many others."""
        return not self.writes and not self.invocations


class Message(NamedTuple):
    """A claimed message. `payload` is decoded JSON; `attempt` counts from 1."""

    id: MessageId
    queue_name: str
    payload: Json
    attempt: int
    max_attempts: int
    priority: int
    enqueued_at: datetime
    deliver_after: datetime
    trigger_depth: int
    root_execution_id: ExecutionId | None
    parent_execution_id: ExecutionId | None = None
    """None: the root itself, or nothing of ours."""
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class ErrorFrame:
    """One line of an author's script on the way to an error."""

    script: str
    line: int
    function: str
    source: str


@dataclass(frozen=True, slots=True)
class ScriptError:
    """Why a handler failed, in the author's terms: never picloud's internals."""

    type: str
    message: str
    line: int | None = None
    source: str | None = None
    """The author's source line, stripped."""
    stack: tuple[ErrorFrame, ...] = ()

    @classmethod
    def of(cls, error: Exception) -> ScriptError:
        """Return what an error of ours is to the author: one without a line, since none of theirs raised it."""
        return cls(type(error).__name__, str(error))


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that a handler logged or printed; control characters are escaped."""

    level: LogLevel
    message: str
    fields: Mapping[str, Json] = field(default_factory=dict)
    at: float = 0.0
    """Seconds since the epoch."""
    callee_id: ExecutionId | None = None
    """The execution that logged it, where it was called by `invoke`; None: the one that was started."""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Exact, disjoint counts of one queue."""

    name: str
    ready: int
    delayed: int
    claimed: int
    dead: int
    oldest_ready_age_secs: float | None = None
    paused_at: datetime | None = None
