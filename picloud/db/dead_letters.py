"""Dead letters: look at them, replay them, discard them. Source: sql/dead_letters.sql."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import AlreadyReplayed, Conflict, DeadLetterNotFound
from picloud.types import AppId, DeadLetterId, DeadLetterReason, Json, MessageId, TriggerId

_sql = load("dead_letters")

REPLAYABLE = frozenset({"queue", "invoke", "cron"})
"""Sources of dead letters that can be tried again."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that ended badly: what the handler saw, and why it failed."""

    id: DeadLetterId
    source: str
    op: str
    queue_name: str | None
    trigger_id: TriggerId | None
    script_name: str | None
    event: dict[str, Json]
    reason: DeadLetterReason
    error: dict[str, Json] | None
    attempts: int
    enqueued_at: datetime
    died_at: datetime
    resolved_at: datetime | None
    resolution: str | None
    replay_message_id: MessageId | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """A dead letter that is a message again; without a queue: a script that is to run once more."""

    dead_letter_id: DeadLetterId
    message_id: MessageId
    queue_name: str | None


async def list_dead_letters(
    conn: Connection,
    app_id: AppId,
    *,
    queue_name: str | None = None,
    include_resolved: bool = False,
    before: UUID | None = None,
    limit: int = 50,
) -> list[DeadLetter]:
    """Return dead letters, newest first, older than `before` where it is given."""
    async with conn.cursor(row_factory=class_row(DeadLetter)) as cur:
        await cur.execute(
            _sql.list_dead_letters,
            {
                "app_id": app_id,
                "queue_name": queue_name,
                "include_resolved": include_resolved,
                "before": before,
                "limit": limit,
            },
        )
        return await cur.fetchall()


async def get_dead_letter(conn: Connection, app_id: AppId, dead_letter_id: DeadLetterId) -> DeadLetter:
    """Return one dead letter. Raises: DeadLetterNotFound."""
    async with conn.cursor(row_factory=class_row(DeadLetter)) as cur:
        await cur.execute(_sql.get_dead_letter, {"app_id": app_id, "id": dead_letter_id})
        dead = await cur.fetchone()
    if dead is None:
        raise DeadLetterNotFound(f"no dead letter {dead_letter_id}")
    return dead


async def delete_dead_letter(conn: Connection, app_id: AppId, dead_letter_id: DeadLetterId) -> None:
    """Drop a dead letter for good. Raises: DeadLetterNotFound."""
    cur = await conn.execute(_sql.delete_dead_letter, {"app_id": app_id, "id": dead_letter_id})
    if cur.rowcount == 0:
        raise DeadLetterNotFound(f"no dead letter {dead_letter_id}")


async def purge_dead_letters(conn: Connection, app_id: AppId, queue_name: str, limit: int) -> int:
    """Drop one batch of a queue's unresolved dead letters for good; return how many."""
    cur = await conn.execute(_sql.purge_dead_letters, {"app_id": app_id, "queue_name": queue_name, "limit": limit})
    return cur.rowcount


async def replay_dead_letter(conn: Connection, app_id: AppId, dead_letter_id: DeadLetterId) -> Replayed:
    """Put one dead letter back into its queue, or have its script run once more.

    Atomic: the caller's transaction, or none needed where it has none.
    Raises: DeadLetterNotFound, AlreadyReplayed, Conflict for one that cannot be replayed.
    """
    async with conn.transaction():
        replayed = await _replay(conn, app_id, dead_letter_id=dead_letter_id, queue_name=None, limit=1)
        if replayed:
            return replayed[0]
        dead = await get_dead_letter(conn, app_id, dead_letter_id)
    if dead.source not in REPLAYABLE:
        raise Conflict(f"dead letter {dead_letter_id} is of a {dead.source} handler: discard it")
    how = f"{dead.resolution} at {dead.resolved_at:%Y-%m-%d %H:%M:%S}" if dead.resolved_at else "being replayed"
    raise AlreadyReplayed(f"dead letter {dead_letter_id} was {how} already")


async def replay_dead_letters(
    conn: Connection, app_id: AppId, *, queue_name: str | None = None, limit: int = 1000
) -> list[Replayed]:
    """Put the oldest unresolved dead letters back into their queues, `limit` at most."""
    async with conn.transaction():
        return await _replay(conn, app_id, dead_letter_id=None, queue_name=queue_name, limit=limit)


async def _replay(
    conn: Connection, app_id: AppId, *, dead_letter_id: DeadLetterId | None, queue_name: str | None, limit: int
) -> list[Replayed]:
    cur = await conn.execute(
        _sql.list_replayable, {"app_id": app_id, "id": dead_letter_id, "queue_name": queue_name, "limit": limit}
    )
    chosen = [(row, uuid7()) for row in await cur.fetchall()]
    of_queues = [(row[0], new_id) for row, new_id in chosen if row[2] == "queue"]
    others = [(row[0], new_id) for row, new_id in chosen if row[2] != "queue"]
    if of_queues:
        ids, message_ids = zip(*of_queues, strict=True)
        values = {"app_id": app_id, "ids": list(ids), "message_ids": list(message_ids)}
        await conn.execute(_sql.replay_dead_letters, values)
    if others:
        ids, delivery_ids = zip(*others, strict=True)
        values = {"app_id": app_id, "ids": list(ids), "delivery_ids": list(delivery_ids)}
        await conn.execute(_sql.replay_invocations, values)
    return [Replayed(DeadLetterId(row[0]), MessageId(new_id), row[1]) for row, new_id in chosen]
