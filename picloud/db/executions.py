"""What ran: executions and their log lines, one partition per day. Source: sql/executions.sql."""

from __future__ import annotations

from psycopg import errors

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.types import AppId, RecordPolicy

_sql = load("executions")


async def ensure_partitions(conn: Connection, days_ahead: int) -> list[str]:
    """Make the partitions of today and of `days_ahead` days to come; return the names of those made.

    Atomic: one transaction. None is made while another node does it, or while a reader holds a table for long: rows
    go into the default partition meanwhile, and move when their day's is made.
    """
    try:
        async with conn.transaction():
            await conn.execute(_sql.limit_lock_wait)
            cur = await conn.execute(_sql.ensure_partitions, {"days_ahead": days_ahead})
            row = await cur.fetchone()
    except errors.LockNotAvailable:
        return []
    assert row is not None
    return list(row[0])


async def drop_partitions(conn: Connection, older_than_days: int) -> list[str]:
    """Drop the partitions of days before the last `older_than_days`; return the names of those dropped.

    Shape: 0 keeps today only. Atomic: one transaction; nothing is dropped while a reader holds a table for long.
    """
    try:
        async with conn.transaction():
            await conn.execute(_sql.limit_lock_wait)
            cur = await conn.execute(_sql.drop_partitions, {"older_than_days": older_than_days})
            row = await cur.fetchone()
    except errors.LockNotAvailable:
        return []
    assert row is not None
    return list(row[0])


async def list_record_policies(conn: Connection) -> dict[AppId, RecordPolicy]:
    """Return the policies of the apps that do not record everything."""
    cur = await conn.execute(_sql.list_record_policies)
    return {AppId(row[0]): RecordPolicy(row[1], row[2]) for row in await cur.fetchall()}
