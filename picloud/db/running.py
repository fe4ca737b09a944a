"""Executions that run on any node, and wishes to cancel them. Source: sql/running.sql."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.types import AppId, ExecutionId

_sql = load("running")

STALE_AFTER = 15.0
"""Seconds after which an execution that its node says nothing of counts as gone."""
FORGET_AFTER = 300.0
"""Seconds after which it is deleted."""


@dataclass(frozen=True, slots=True)
class OwnExecution:
    """An execution of this node, as it is published. `age` in seconds: only the database's clock tells times."""

    id: ExecutionId
    app_id: AppId
    script_name: str
    source: str
    queue_name: str | None
    message_id: str | None
    age: float


@dataclass(frozen=True, slots=True)
class CancelWish:
    """Somebody wants an execution of this node to end."""

    id: ExecutionId
    by: str
    discards: bool


@dataclass(frozen=True, slots=True)
class StoredRunning:
    """An execution of some node that ran when its node last said so."""

    id: ExecutionId
    node_id: UUID
    app_id: AppId
    script_name: str
    source: str
    queue_name: str | None
    message_id: str | None
    started_at: datetime
    cancelling: bool
    """Somebody asked for its end."""


async def publish_running(conn: Connection, node_id: UUID, running: Sequence[OwnExecution]) -> list[CancelWish]:
    """Replace what is known of a node's executions by `running`; return which of them somebody wants cancelled.

    Atomic: one statement.
    """
    cur = await conn.execute(
        _sql.publish_running,
        {
            "node_id": node_id,
            "ids": [one.id for one in running],
            "app_ids": [one.app_id for one in running],
            "script_names": [one.script_name for one in running],
            "sources": [one.source for one in running],
            "queue_names": [one.queue_name for one in running],
            "message_ids": [one.message_id for one in running],
            "ages": [one.age for one in running],
            "forget_after": FORGET_AFTER,
        },
    )
    return [CancelWish(ExecutionId(row[0]), row[1], row[2]) for row in await cur.fetchall() if row[1] is not None]


async def list_running(
    conn: Connection, app_id: AppId, *, except_node: UUID, after: UUID | None = None, limit: int = 50
) -> list[StoredRunning]:
    """Return an app's executions that run for longer than a moment on the other nodes, oldest first."""
    values = {
        "app_id": app_id,
        "except_node": except_node,
        "after": after,
        "limit": limit,
        "stale_after": STALE_AFTER,
    }
    async with conn.cursor(row_factory=class_row(StoredRunning)) as cur:
        await cur.execute(_sql.list_running, values)
        return await cur.fetchall()


async def request_cancel(
    conn: Connection, app_id: AppId, execution_id: ExecutionId, *, by: str, discards: bool
) -> bool:
    """Leave a wish for the node that runs an execution; False where no node is known to."""
    cur = await conn.execute(
        _sql.request_cancel,
        {"app_id": app_id, "id": execution_id, "by": by, "discards": discards, "stale_after": STALE_AFTER},
    )
    return cur.rowcount == 1
