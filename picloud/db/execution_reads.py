"""Look at what ran: executions, traces, log lines. Source: sql/executions.sql."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from psycopg.rows import class_row

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import ExecutionNotFound
from picloud.types import AppId, ExecutionId, ExecutionStatus, Json, LogLevel, TriggerId

_sql = load("executions")

RECORDER: Final = "picloud-recorder"
"""By this name PostgreSQL knows the connections that write what ran."""
LEVELS: Final[tuple[LogLevel, ...]] = ("debug", "info", "warning", "error")
CLOCK_SKEW_MS: Final = 60_000
"""How far the clocks of nodes may be apart in a trace."""


@dataclass(frozen=True, slots=True)
class ExecutionRecord:
    """One execution as it was recorded; lists leave the error's stack out."""

    id: ExecutionId
    root_execution_id: ExecutionId
    parent_execution_id: ExecutionId | None
    script_name: str
    script_version: int
    source: str
    trigger_id: TriggerId | None
    queue_name: str | None
    message_id: UUID | None
    request_id: str | None
    attempt: int
    trigger_depth: int
    status: ExecutionStatus
    started_at: datetime
    duration_secs: float
    cpu_secs: float
    error: dict[str, Json] | None
    log_lines: int


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A line that a handler logged; with a `status`: that its execution failed, and how."""

    execution_id: ExecutionId
    seq: int
    script_name: str
    level: LogLevel
    at: datetime
    message: str
    fields: dict[str, Json] | None
    written_at: datetime
    status: ExecutionStatus | None = None
    error: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class ExecutionFilter:
    """Which executions to list; None: any."""

    statuses: list[str] | None = None
    script_name: str | None = None
    queue_name: str | None = None
    source: str | None = None
    trigger_id: UUID | None = None
    root_id: UUID | None = None
    since: datetime | None = None
    age_secs: float | None = None
    """No older than this, by the database's clock."""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which lines to list."""

    statuses: list[str] | None = None
    script_name: str | None = None
    level: LogLevel = "debug"
    """The least."""


class LogPosition(NamedTuple):
    """A place in the log of an app, in the order in which it was written."""

    written_at: datetime
    execution_id: UUID
    seq: int


async def list_executions(
    conn: Connection, app_id: AppId, wanted: ExecutionFilter, *, before: UUID | None = None, limit: int = 50
) -> list[ExecutionRecord]:
    """Return executions, newest first, older than `before` where it is given."""
    oldest = None if wanted.root_id is None else _oldest(wanted.root_id)
    values = {"app_id": app_id, **asdict(wanted), "oldest": oldest, "before": before, "limit": limit}
    async with conn.cursor(row_factory=class_row(ExecutionRecord)) as cur:
        await cur.execute(_sql.list_executions, values)
        return await cur.fetchall()


async def list_trace(conn: Connection, app_id: AppId, root_id: UUID, limit: int) -> list[ExecutionRecord]:
    """Return a root execution and what it caused, in the order in which they began."""
    values = {"app_id": app_id, "root_id": root_id, "oldest": _oldest(root_id), "limit": limit}
    async with conn.cursor(row_factory=class_row(ExecutionRecord)) as cur:
        await cur.execute(_sql.list_trace, values)
        return await cur.fetchall()


async def get_execution(conn: Connection, app_id: AppId, execution_id: ExecutionId) -> ExecutionRecord:
    """Return one execution with its whole error. Raises: ExecutionNotFound."""
    async with conn.cursor(row_factory=class_row(ExecutionRecord)) as cur:
        await cur.execute(_sql.get_execution, {"app_id": app_id, "id": execution_id})
        execution = await cur.fetchone()
    if execution is None:
        raise ExecutionNotFound(
            f"no execution {execution_id}: it is not written yet, was not recorded, or its day was dropped"
        )
    return execution


async def list_log_lines(conn: Connection, app_id: AppId, execution_id: ExecutionId) -> list[LogRecord]:
    """Return what an execution logged, in order."""
    async with conn.cursor(row_factory=class_row(LogRecord)) as cur:
        await cur.execute(_sql.list_log_lines, {"app_id": app_id, "execution_id": execution_id})
        return await cur.fetchall()


async def get_log_horizon(conn: Connection) -> LogPosition:
    """Return the place up to which nothing will be written any more."""
    cur = await conn.execute(_sql.get_log_horizon, {"writer": RECORDER})
    row = await cur.fetchone()
    assert row is not None
    return LogPosition(row[0], UUID(int=0), 0)


async def list_log(
    conn: Connection,
    app_id: AppId,
    wanted: LogFilter,
    *,
    horizon: LogPosition,
    before: LogPosition | None = None,
    after: LogPosition | None = None,
    limit: int = 50,
) -> list[LogRecord]:
    """Return log lines and failures written before `horizon`: the last written first; `after` a place, in order."""
    at = after or before or LogPosition(horizon.written_at, UUID(int=0), 0)
    values = {
        "app_id": app_id,
        "statuses": wanted.statuses,
        "script_name": wanted.script_name,
        "levels": list(_levels_from(wanted.level)),
        "horizon": horizon.written_at,
        "written_at": at.written_at if after or before else None,
        "execution_id": at.execution_id,
        "seq": at.seq,
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(LogRecord)) as cur:
        await cur.execute(_sql.list_log_after if after else _sql.list_log_before, values)
        return await cur.fetchall()


def _oldest(root_id: UUID) -> UUID:
    """Return the least id that something caused by a root may have."""
    return UUID(int=max(0, (root_id.int >> 80) - CLOCK_SKEW_MS) << 80)


def _levels_from(least: LogLevel) -> Sequence[LogLevel]:
    return LEVELS[LEVELS.index(least) :]
