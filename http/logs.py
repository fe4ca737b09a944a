"""The log of an app: what its handlers logged and how they failed: /api/v1/apps/{app}/logs."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.execution_reads import LogFilter, LogPosition, LogRecord, get_log_horizon, list_log
from picloud.http.bodies import Text, Time, View
from picloud.http.executions import StatusFilter, expand_status
from picloud.http.node import node
from picloud.http.paging import PageQuery, decode_cursor, encode_cursor, refuse_cursor
from picloud.http.requests import read_query
from picloud.http.responses import respond
from picloud.types import ExecutionStatus, LogLevel

blueprint = Blueprint("logs", __name__, url_prefix="/api/v1/apps/<app>/logs")


class LogQuery(PageQuery):
    """Which lines to list; `after` is the `follow_cursor` of an earlier answer."""

    after: str | None = None
    status: StatusFilter | None = None
    """Of the execution; `failed`: all but ok."""
    script: Text | None = None
    level: LogLevel = "debug"
    """The least."""


class LogView(View):
    """A line that a handler logged; with a `status`: that its execution failed, with the error."""

    execution_id: UUID
    seq: int
    script: str = Field(validation_alias="script_name")
    level: LogLevel
    at: Time
    message: str
    fields: Any
    status: ExecutionStatus | None
    error: dict[str, Any] | None


class LogPage(View):
    """Lines, the last written first; those after a `follow_cursor` in the order in which they were written."""

    items: list[LogView]
    next_cursor: str | None
    follow_cursor: str
    """For `after`: what comes after all that was shown."""


@blueprint.get("")
async def index(app: str) -> Response:
    """List log lines and failures, the last first; with `after`: what came since, the first first."""
    query = read_query(LogQuery)
    before, after = _read_position(query.cursor), _read_position(query.after)
    wanted = LogFilter(expand_status(query.status), query.script, query.level)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        horizon = await get_log_horizon(conn)
        rows = await list_log(
            conn, owner.id, wanted, horizon=horizon, before=before, after=after, limit=query.limit + 1
        )
    shown = rows[: query.limit]
    more = len(rows) > query.limit
    if after is not None:
        # where nothing matched, what did not match need not be looked at again
        last = _position(shown[-1]) if more else max(horizon, after)
        next_cursor = None
    else:
        last = horizon
        next_cursor = _encode(_position(shown[-1])) if more else None
    items = [LogView.of(row) for row in shown]
    return respond(LogPage(items=items, next_cursor=next_cursor, follow_cursor=_encode(last)))


def _position(row: LogRecord) -> LogPosition:
    return LogPosition(row.written_at, row.execution_id, row.seq)


def _encode(position: LogPosition) -> str:
    return encode_cursor(f"{position.written_at.isoformat()} {position.execution_id} {position.seq}")


def _read_position(cursor: str | None) -> LogPosition | None:
    """Read what `_encode` wrote. Raises: InvalidFields."""
    if cursor is None:
        return None
    try:
        written_at, execution_id, seq = decode_cursor(cursor).split(" ")
        position = LogPosition(datetime.fromisoformat(written_at), UUID(execution_id), int(seq))
    except ValueError:
        refuse_cursor()
    if position.written_at.tzinfo is None or not 0 <= position.seq < 2**31:
        refuse_cursor()
    return position
