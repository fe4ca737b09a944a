"""Queues as a whole: exact counts. Source: sql/queues.sql."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import QueueNotFound
from picloud.types import AppId, QueueDepth

_sql = load("queues")


async def list_depths(
    conn: Connection, app_id: AppId, *, after: str | None = None, limit: int | None = None
) -> list[QueueDepth]:
    """Return the counts of an app's queues by name: of all, or of those after `after`, `limit` at most.

    Atomic: all numbers are of one moment.
    """
    async with conn.cursor(row_factory=class_row(QueueDepth)) as cur:
        await cur.execute(_sql.list_depths, {"app_id": app_id, "queue_name": None, "after": after, "limit": limit})
        return await cur.fetchall()


async def get_depth(conn: Connection, app_id: AppId, queue_name: str) -> QueueDepth:
    """Return the counts of one queue. Raises: QueueNotFound."""
    async with conn.cursor(row_factory=class_row(QueueDepth)) as cur:
        await cur.execute(_sql.list_depths, {"app_id": app_id, "queue_name": queue_name, "after": None, "limit": None})
        depth = await cur.fetchone()
    if depth is None:
        raise queue_not_found(queue_name)
    return depth


async def pause_queue(conn: Connection, app_id: AppId, name: str) -> None:
    """Have no node claim messages of the queue; what is claimed is finished. Raises: QueueNotFound."""
    await _switch(conn, _sql.pause_queue, app_id, name)


async def resume_queue(conn: Connection, app_id: AppId, name: str) -> None:
    """End a pause. Raises: QueueNotFound."""
    await _switch(conn, _sql.resume_queue, app_id, name)


async def _switch(conn: Connection, statement: LiteralString, app_id: AppId, name: str) -> None:
    cur = await conn.execute(statement, {"app_id": app_id, "name": name})
    if cur.rowcount == 0:
        raise queue_not_found(name)


def queue_not_found(name: str) -> QueueNotFound:
    """Return the error for a queue that nobody has heard of."""
    return QueueNotFound(f"no queue '{name}': a queue appears with its first message or trigger")


async def ensure_queue(conn: Connection, app_id: AppId, name: str) -> None:
    """Make the queue known; does nothing where it is."""
    await conn.execute(_sql.ensure_queue, {"app_id": app_id, "name": name})


def count_depth_sync(conn: psycopg.Connection[Any], app_id: AppId, queue_name: str) -> tuple[int, int]:
    """Return how many messages are unclaimed, and how many of them are due; on a handler thread's own connection."""
    row = conn.execute(_sql.count_depth, {"app_id": app_id, "queue_name": queue_name}).fetchone()
    assert row is not None
    return row[0], row[1]
