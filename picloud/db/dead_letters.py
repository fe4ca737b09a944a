"""Dead letters: look at them, replay them, discard them. Source: sql/dead_letters.sql."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.queues import ensure_queue
from picloud.db.sqlfile import load
from picloud.errors import AlreadyReplayed, Conflict, DeadLetterNotFound
from picloud.types import AppId, DeadLetterId, DeadLetterReason, Json, MessageId, TriggerId

_sql = load("dead_letters")

REPLAYABLE = frozenset({"queue", "invoke", "cron", "email"})
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
    resolved_by: str | None
    """The name of a token."""
    resolution_note: str | None
    replay_message_id: MessageId | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """A dead letter that is a message again; without a queue: a script that is to run once more."""

    dead_letter_id: DeadLetterId
    message_id: MessageId
    queue_name: str | None
    due_in: float = 0.0
    """Seconds until it may be delivered."""


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Which dead letters are meant; None: any."""

    queue_name: str | None = None
    script_name: str | None = None
    error_type: str | None = None
    reason: DeadLetterReason | None = None
    died_after: datetime | None = None
    died_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """How dead letters are put back."""

    by: str
    """Who wants it: the name of a token."""
    to_queue: str | None = None
    """None: each to its own; else only those that came from a queue can go."""
    per_second: float | None = None
    """How many become due in a second; None: all at once."""
    delay: float = 0.0
    """Seconds until the first is due."""

    def due_in(self, at: int) -> float:
        """Return in how many seconds the message number `at`, from 0, is due."""
        return self.delay + (at / self.per_second if self.per_second else 0.0)


EVERYTHING = DeadLetterFilter()


async def list_dead_letters(
    conn: Connection,
    app_id: AppId,
    *,
    wanted: DeadLetterFilter = EVERYTHING,
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
                **asdict(wanted),
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


async def discard_dead_letter(
    conn: Connection, app_id: AppId, dead_letter_id: DeadLetterId, *, by: str, note: str | None = None
) -> DeadLetter:
    """Say that nothing is to be done about a dead letter, and who says so; it is kept until its retention is over.

    Raises: DeadLetterNotFound, AlreadyReplayed for one that is resolved.
    """
    values = {"app_id": app_id, "id": dead_letter_id, "by": by, "note": note}
    changed = (await conn.execute(_sql.discard_dead_letter, values)).rowcount
    dead = await get_dead_letter(conn, app_id, dead_letter_id)
    if not changed:
        raise AlreadyReplayed(f"dead letter {dead_letter_id} {_tell_resolution(dead)}")
    return dead


async def reopen_dead_letter(conn: Connection, app_id: AppId, dead_letter_id: DeadLetterId) -> DeadLetter:
    """Take a discard back. Raises: DeadLetterNotFound, AlreadyReplayed, Conflict for one that is open."""
    changed = (await conn.execute(_sql.reopen_dead_letter, {"app_id": app_id, "id": dead_letter_id})).rowcount
    dead = await get_dead_letter(conn, app_id, dead_letter_id)
    if not changed and dead.resolved_at is not None:
        raise AlreadyReplayed(
            f"dead letter {dead_letter_id} {_tell_resolution(dead)}: its message cannot be taken back"
        )
    if not changed:
        raise Conflict(f"dead letter {dead_letter_id} is open")
    return dead


async def replay_dead_letter(conn: Connection, app_id: AppId, dead_letter_id: DeadLetterId, replay: Replay) -> Replayed:
    """Put one dead letter back into its queue, or have its script run once more.

    Atomic: the caller's transaction, or none needed where it has none.
    Raises: DeadLetterNotFound, AlreadyReplayed, Conflict for one that cannot be replayed.
    """
    async with conn.transaction():
        replayed = await _replay(conn, app_id, EVERYTHING, replay, dead_letter_id=dead_letter_id, limit=1)
        if replayed:
            return replayed[0]
        dead = await get_dead_letter(conn, app_id, dead_letter_id)
    if dead.resolved_at is not None:
        raise AlreadyReplayed(f"dead letter {dead_letter_id} {_tell_resolution(dead)}")
    if dead.source not in REPLAYABLE:
        raise Conflict(f"dead letter {dead_letter_id} is of a {dead.source} handler: discard it")
    if replay.to_queue is not None and dead.source != "queue":
        raise Conflict(f"dead letter {dead_letter_id} is no queue's message: it cannot go into a queue")
    raise AlreadyReplayed(f"dead letter {dead_letter_id} was being replayed already")


async def replay_dead_letters(
    conn: Connection, app_id: AppId, replay: Replay, *, wanted: DeadLetterFilter = EVERYTHING, limit: int = 1000
) -> tuple[list[Replayed], datetime]:
    """Put the oldest unresolved dead letters back into their queues, `limit` at most.

    Return them, and when that was: what dies from then on was not meant.
    """
    async with conn.transaction():
        row = await (await conn.execute(_sql.current_time)).fetchone()
        assert row is not None
        return await _replay(conn, app_id, wanted, replay, dead_letter_id=None, limit=limit), row[0]


async def _replay(
    conn: Connection,
    app_id: AppId,
    wanted: DeadLetterFilter,
    replay: Replay,
    *,
    dead_letter_id: DeadLetterId | None,
    limit: int,
) -> list[Replayed]:
    only_queues = replay.to_queue is not None
    values = {"app_id": app_id, "id": dead_letter_id, "limit": limit, "only_queues": only_queues, **asdict(wanted)}
    rows = await (await conn.execute(_sql.list_replayable, values)).fetchall()
    if rows and replay.to_queue is not None:
        await ensure_queue(conn, app_id, replay.to_queue)
    chosen = [(row, uuid7(), replay.due_in(at)) for at, row in enumerate(rows)]
    of_queues = [(row[0], new_id, due_in) for row, new_id, due_in in chosen if row[2] == "queue"]
    others = [(row[0], new_id, due_in) for row, new_id, due_in in chosen if row[2] != "queue"]
    if of_queues:
        columns = _columns(of_queues, "message_ids")
        await conn.execute(
            _sql.replay_dead_letters, {"app_id": app_id, "by": replay.by, "to_queue": replay.to_queue, **columns}
        )
    if others:
        await conn.execute(
            _sql.replay_invocations, {"app_id": app_id, "by": replay.by, **_columns(others, "delivery_ids")}
        )
    return [
        Replayed(DeadLetterId(row[0]), MessageId(new_id), row[1] and (replay.to_queue or row[1]), due_in)
        for row, new_id, due_in in chosen
    ]


def _columns(rows: Sequence[tuple[UUID, UUID, float]], new_ids: str) -> dict[str, list[object]]:
    ids, made, delays = zip(*rows, strict=True)
    return {"ids": list(ids), new_ids: list(made), "delays": list(delays)}


def _tell_resolution(dead: DeadLetter) -> str:
    assert dead.resolved_at is not None
    who = f" by '{dead.resolved_by}'" if dead.resolved_by else ""
    return f"was {dead.resolution} already, at {dead.resolved_at:%Y-%m-%d %H:%M:%S}{who}"
