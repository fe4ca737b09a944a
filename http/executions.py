"""What ran: /api/v1/apps/{app}/executions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.execution_reads import (
    ExecutionFilter,
    ExecutionRecord,
    get_execution,
    list_executions,
    list_log_lines,
    list_trace,
)
from picloud.durations import parse_duration
from picloud.errors import ExecutionNotFound, InvalidInput
from picloud.http.bodies import Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import parse_id, read_query, refuse_fields
from picloud.http.responses import respond
from picloud.types import ExecutionId, ExecutionStatus, FieldFault, LogLevel

blueprint = Blueprint("executions", __name__, url_prefix="/api/v1/apps/<app>/executions")

MAX_TRACE = 1000
"""Executions of a trace that are shown: the first."""

StatusFilter = Literal["ok", "failed", "error", "timeout", "memory", "cancelled", "lease_lost"]
FAILED: tuple[ExecutionStatus, ...] = ("error", "timeout", "memory", "cancelled", "lease_lost")


class ExecutionQuery(PageQuery):
    """Which executions to list."""

    status: StatusFilter | None = None
    """`failed`: all but ok."""
    script: Text | None = None
    queue: Text | None = None
    trigger: Text | None = None
    """The id of a trigger, or what its events come from: queue, http, cron, dead_letter, email, invoke."""
    root: UUID | None = None
    since: Text | None = None
    """A time, or how long ago: 15m."""


class ExecutionView(View):
    """One execution. In a list its error has no stack."""

    id: UUID
    root_execution_id: UUID
    parent_execution_id: UUID | None
    script: str = Field(validation_alias="script_name")
    version: int = Field(validation_alias="script_version")
    source: str
    trigger_id: UUID | None
    queue_name: str | None
    message_id: UUID | None
    request_id: str | None
    attempt: int
    trigger_depth: int
    status: ExecutionStatus
    started_at: Time
    duration_secs: float
    cpu_secs: float
    error: dict[str, Any] | None
    log_lines: int


class LineView(View):
    """A line that was logged."""

    seq: int
    level: LogLevel
    at: Time
    message: str
    fields: Any


class ExecutionDetailView(ExecutionView):
    """One execution with its whole error and all that it logged."""

    logs: list[LineView] = Field(default_factory=list)


class TracedView(ExecutionView):
    """An execution in a trace."""

    depth: int = 0
    """How far below the root."""


class TraceView(View):
    """What one root execution caused: a tree, each execution right before what it caused."""

    root_execution_id: UUID
    items: list[TracedView]
    truncated: bool
    """There are more: only the first that began are shown."""


@blueprint.get("")
async def index(app: str) -> Response:
    """List what ran, newest first."""
    query = read_query(ExecutionQuery)
    wanted = _filter(query)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_executions(conn, owner.id, wanted, before=query.after_id, limit=query.limit + 1)
    return respond(make_page(rows, query, ExecutionView.of, lambda row: row.id))


@blueprint.get("/<execution>")
async def show(app: str, execution: str) -> Response:
    """Return one execution with its error and its log lines."""
    execution_id = _parse_execution_id(execution)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        view = ExecutionDetailView.of(await get_execution(conn, owner.id, execution_id))
        view.logs = [LineView.of(line) for line in await list_log_lines(conn, owner.id, execution_id)]
    return respond(view)


@blueprint.get("/<execution>/trace")
async def trace(app: str, execution: str) -> Response:
    """Return the tree of what an execution's root caused, across queues and invokes."""
    execution_id = _parse_execution_id(execution)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_trace(conn, owner.id, execution_id, MAX_TRACE + 1)
        root_id = execution_id
        if not any(row.root_execution_id == execution_id for row in rows):
            # not a root: show the trace that it is part of
            root_id = (await get_execution(conn, owner.id, execution_id)).root_execution_id
            rows = await list_trace(conn, owner.id, root_id, MAX_TRACE + 1)
    items = list(arrange_trace(rows[:MAX_TRACE], root_id))
    return respond(TraceView(root_execution_id=root_id, items=items, truncated=len(rows) > MAX_TRACE))


def arrange_trace(rows: Sequence[ExecutionRecord], root_id: UUID) -> Iterator[TracedView]:
    """Yield executions in the order of a tree. One whose parent is not there is the root's, or stands at the top."""
    known = {row.id for row in rows}
    children: dict[UUID | None, list[ExecutionRecord]] = {}
    for row in rows:
        parent: UUID | None = row.parent_execution_id if row.parent_execution_id in known else root_id
        if row.id == root_id or parent not in known:
            parent = None
        children.setdefault(parent, []).append(row)
    waiting = [(row, 0) for row in reversed(children.get(None, []))]
    # no recursion: a chain of messages may be as long as it likes
    while waiting:
        row, depth = waiting.pop()
        view = TracedView.of(row)
        view.depth = depth
        yield view
        waiting += [(child, depth + 1) for child in reversed(children.get(row.id, []))]


def expand_status(status: StatusFilter | None) -> list[str] | None:
    """Return the statuses that a filter stands for."""
    if status is None:
        return None
    return list(FAILED) if status == "failed" else [status]


def _filter(query: ExecutionQuery) -> ExecutionFilter:
    since, age_secs = _read_since(query.since)
    trigger_id = _read_uuid(query.trigger)
    return ExecutionFilter(
        statuses=expand_status(query.status),
        script_name=query.script,
        queue_name=query.queue,
        source=query.trigger if trigger_id is None else None,
        trigger_id=trigger_id,
        root_id=query.root,
        since=since,
        age_secs=age_secs,
    )


def _read_since(text: str | None) -> tuple[datetime | None, float | None]:
    """Read a time, or a duration before now. Raises: InvalidFields."""
    if text is None:
        return None, None
    try:
        return None, parse_duration(text, what="since")
    except InvalidInput:
        pass
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC), None
    except (ValueError, OverflowError):
        refuse_fields([FieldFault("must be a time (2026-12-01T08:00:00Z) or how long ago (15m)", parameter="since")])


def _read_uuid(text: str | None) -> UUID | None:
    try:
        return None if text is None else UUID(text)
    except ValueError:
        return None


def _parse_execution_id(text: str) -> ExecutionId:
    return ExecutionId(parse_id(text, ExecutionNotFound, "execution"))
