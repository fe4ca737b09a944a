"""Recording: what ran, on its way into the database. Bounded, and never in anybody's way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from picloud.db.execution_rows import (
    PLAIN_FATE,
    Amendment,
    Chunk,
    ExecutionFate,
    encode_fate,
    encode_head,
    encode_log,
    encode_own,
    encode_own_without_message,
)
from picloud.db.messages import error_json
from picloud.engine import Call, Job, Outcome, QueueEvent
from picloud.engine.logs import clean_json
from picloud.types import AppId, ExecutionId, ExecutionStatus, Json, RecordPolicy, ScriptError

MAX_AMENDMENTS = 10_000

LOGS_SHARE = 0.5
"""Of the room: beyond it log lines are dropped, so that executions still find some."""


class RecordingFigures(NamedTuple):
    """What became of what ran, since the start."""

    executions_dropped: int
    logs_dropped: int
    buffered: int
    buffered_bytes: int


Amend = Callable[[AppId, ExecutionId, ExecutionStatus, ScriptError | None], None]
"""Corrects how an execution ended that was recorded."""


def keep_as_recorded(
    app_id: AppId, execution_id: ExecutionId, status: ExecutionStatus, error: ScriptError | None
) -> None:
    """Correct nothing: where nothing is recorded."""


class Recording:
    """Takes outcomes on any thread, encodes them at once, and holds the bytes until they are written.

    Encoded they take a tenth of the room, and nothing of a message's payload is kept alive.
    """

    def __init__(self, max_bytes: int) -> None:
        self.policies: Mapping[AppId, RecordPolicy] = {}
        """Of the apps that do not record everything; replaced as a whole."""
        self._max_bytes = max_bytes
        self._chunks: deque[Chunk] = deque()
        self._amendments: deque[Amendment] = deque(maxlen=MAX_AMENDMENTS)
        self._held_bytes = 0
        self._held = 0
        self._executions_dropped = 0
        self._logs_dropped = 0
        self._lock = threading.Lock()

    def __call__(self, outcomes: Sequence[Outcome]) -> None:
        """Take what a slice of executions led to; never blocks, drops what finds no room."""
        wanted = self._choose(outcomes) if self.policies else outcomes
        if wanted:
            self._add(encode_outcomes(wanted))

    def amend(
        self, app_id: AppId, execution_id: ExecutionId, status: ExecutionStatus, error: ScriptError | None
    ) -> None:
        """Correct how an execution ended that was taken before; one that was not recorded stays so."""
        self._amendments.append(Amendment(app_id, execution_id, status, _error(error)))

    def take_amendments(self) -> list[Amendment]:
        """Return corrections; to be asked for before the chunks that hold what they are about."""
        taken: list[Amendment] = []
        while self._amendments:
            taken.append(self._amendments.popleft())
        return taken

    def take(self, max_bytes: int) -> list[Chunk]:
        """Return the oldest chunks, at least one where there is any; they count until `release`."""
        taken: list[Chunk] = []
        size_bytes = 0
        with self._lock:
            while self._chunks and (not taken or size_bytes + self._chunks[0].size_bytes <= max_bytes):
                taken.append(self._chunks.popleft())
                size_bytes += taken[-1].size_bytes
        return taken

    def release(self, chunks: Sequence[Chunk], *, written: bool) -> None:
        """Forget chunks that were taken."""
        with self._lock:
            self._held -= sum(chunk.execution_count for chunk in chunks)
            self._held_bytes -= sum(chunk.size_bytes for chunk in chunks)
            if not written:
                self._executions_dropped += sum(chunk.execution_count for chunk in chunks)
                self._logs_dropped += sum(chunk.log_count for chunk in chunks)

    def figures(self) -> RecordingFigures:
        """Return the counts."""
        return RecordingFigures(self._executions_dropped, self._logs_dropped, self._held, self._held_bytes)

    def _choose(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        return [outcome for outcome in outcomes if _is_wanted(self.policies.get(outcome.job.app_id), outcome)]

    def _add(self, chunk: Chunk) -> None:
        with self._lock:
            if chunk.log_count and self._held_bytes + chunk.size_bytes > self._max_bytes * LOGS_SHARE:
                self._logs_dropped += chunk.log_count
                chunk = Chunk(chunk.executions, chunk.execution_count)
            if self._held_bytes + chunk.size_bytes > self._max_bytes:
                self._executions_dropped += chunk.execution_count
                return
            self._held_bytes += chunk.size_bytes
            self._held += chunk.execution_count
            self._chunks.append(chunk)


def _is_wanted(policy: RecordPolicy | None, outcome: Outcome) -> bool:
    """Decide by the root, so that a trace is whole or not there, on every node; what fails is always wanted."""
    if policy is None or policy.mode == "all" or not outcome.ok:
        return True
    if policy.mode == "errors":
        return False
    root = outcome.job.root_execution_id or outcome.execution_id
    return (root.int & 0xFFFFFFFF) < policy.sample_rate * 0x100000000


def encode_outcomes(outcomes: Sequence[Outcome]) -> Chunk:
    """Return the rows of outcomes, of what they called, and of what was logged."""
    rows: list[bytes] = []
    logs: list[bytes] = []
    head, last = b"", None
    for outcome in outcomes:
        job = outcome.job
        if last is None or job.trigger_id is None or job.trigger_id is not last.trigger_id:
            head, last = _head(job), job
        event = job.event
        if (
            outcome.ok
            and type(event) is QueueEvent
            and job.root_execution_id is None
            and job.request_id is None
            and not outcome.logs
            and not outcome.calls
        ):
            own = encode_own(
                outcome.execution_id,
                job.key,  # type: ignore[arg-type]
                outcome.started_at,
                outcome.duration,
                outcome.cpu,
                event.attempt,
                job.trigger_depth,
            )
            rows += (head, own, PLAIN_FATE)
        else:
            rows += _encode_full(head, outcome)
            logs += _encode_logs(outcome)
    count = len(outcomes) + sum(len(outcome.calls) for outcome in outcomes)
    return Chunk(b"".join(rows), count, b"".join(logs), len(logs))


def _head(job: Job) -> bytes:
    event = job.event
    queue = event.queue if isinstance(event, QueueEvent) else None
    return encode_head(job.app_id, job.script.name, job.version, event.source, job.trigger_id, queue)


def _encode_full(head: bytes, outcome: Outcome) -> Iterator[bytes]:
    job, event = outcome.job, outcome.job.event
    attempt = event.attempt if isinstance(event, QueueEvent) else job.attempt
    started = outcome.started_at, outcome.duration, outcome.cpu, attempt, job.trigger_depth
    yield head
    if isinstance(job.key, UUID):
        yield encode_own(outcome.execution_id, job.key, *started)
    else:
        yield encode_own_without_message(outcome.execution_id, *started)
    lines = sum(line.callee_id is None for line in outcome.logs)
    parent = job.parent_execution_id or job.root_execution_id
    yield encode_fate(
        ExecutionFate(outcome.status, lines, job.root_execution_id, parent, job.request_id, _error(outcome.error))
    )
    for call in outcome.calls:
        yield from _encode_call(outcome, call)


def _encode_call(outcome: Outcome, call: Call) -> Iterator[bytes]:
    job = outcome.job
    yield encode_head(job.app_id, call.script, call.version, "invoke", None, None)
    yield encode_own_without_message(call.execution_id, call.started_at, call.duration, call.cpu, 1, call.trigger_depth)
    lines = sum(line.callee_id == call.execution_id for line in outcome.logs)
    root = job.root_execution_id or outcome.execution_id
    yield encode_fate(
        ExecutionFate(call.status, lines, root, call.parent_execution_id, job.request_id, _error(call.error))
    )


def _encode_logs(outcome: Outcome) -> Iterator[bytes]:
    """Number the lines through the whole run: callers and callees share one order."""
    job = outcome.job
    scripts: dict[ExecutionId, str] = {call.execution_id: call.script for call in outcome.calls}
    for seq, line in enumerate(outcome.logs, start=1):
        execution_id, script = outcome.execution_id, job.script.name
        if line.callee_id is not None and line.callee_id in scripts:
            execution_id, script = line.callee_id, scripts[line.callee_id]
        yield encode_log(job.app_id, execution_id, seq, script, line.level, line.at, line.message, dict(line.fields))


def _error(error: ScriptError | None) -> Json:
    return None if error is None else clean_json(error_json(error))
