"""What is past its retention, and what keeps the database from clearing up. Source: sql/janitor.sql.

Deduplication keys need no janitor: a key lives on its message's row and goes with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg.rows import class_row

from picloud.db.connection import Connection
from picloud.db.sqlfile import load

_sql = load("janitor")

DAY = 86400.0
"""Seconds."""
MANY_TRANSACTIONS = 1_000_000
"""By which a replication slot may hold the database back."""


@dataclass(frozen=True, slots=True)
class BloatedTable:
    """A table with more dead rows than live ones that nobody vacuums."""

    table_name: str
    live: int
    dead: int


@dataclass(frozen=True, slots=True)
class Pin:
    """Something that keeps dead rows from being cleared: a session by its pid, a prepared transaction, a slot."""

    kind: str
    name: str
    application: str | None
    """Or the owner of a prepared transaction, or the plugin of a slot."""
    age_secs: float | None
    """None: of a slot, which is that many transactions old."""


async def try_lead(conn: Connection) -> bool:
    """Become the one janitor of the cluster for as long as the session lives; False where another one is.

    Behind a proxy that lends sessions everybody leads.
    """
    row = await (await conn.execute(_sql.try_lead, {"backend": conn.info.backend_pid})).fetchone()
    return row == (True,)


async def expire_messages(conn: Connection, limit: int) -> int:
    """Make dead letters of messages that waited for longer than their queue allows; return of how many."""
    return await _batch(conn, _sql.expire_messages, limit)


async def prune_dead_letters(conn: Connection, limit: int, *, keep_days: float) -> int:
    """Drop dead letters that were resolved so long ago, or are older than their queue keeps them; return how many."""
    pruned = await _batch(conn, _sql.prune_resolved, limit, keep_secs=keep_days * DAY)
    if pruned < limit:
        pruned += await _batch(conn, _sql.prune_dead_letters, limit - pruned)
    return pruned


async def prune_script_versions(conn: Connection, limit: int, *, keep: int) -> int:
    """Drop all but the last `keep` versions of each script; return how many."""
    return await _batch(conn, _sql.prune_script_versions, limit, keep=keep)


async def prune_tokens(conn: Connection, limit: int) -> int:
    """Drop tokens that have expired; return how many."""
    return await _batch(conn, _sql.prune_tokens, limit)


async def list_bloated(conn: Connection, *, least: int, patience: float) -> list[BloatedTable]:
    """Return tables with at least so many dead rows that were not vacuumed for `patience` seconds, the worst first."""
    async with conn.cursor(row_factory=class_row(BloatedTable)) as cur:
        await cur.execute(_sql.list_bloated, {"least": least, "patience": patience})
        return await cur.fetchall()


async def list_pins(conn: Connection, *, older_than: float) -> list[Pin]:
    """Return what has kept dead rows from being cleared for so many seconds, the oldest first."""
    async with conn.cursor(row_factory=class_row(Pin)) as cur:
        await cur.execute(_sql.list_pins, {"older_than": older_than, "transactions": MANY_TRANSACTIONS})
        return await cur.fetchall()


async def _batch(conn: Connection, statement: LiteralString, limit: int, **values: Any) -> int:
    return (await conn.execute(statement, {"limit": limit, **values})).rowcount
