"""The queue's messages: send, pull, settle, reclaim, peek. Source: sql/messages.sql."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

from psycopg.rows import class_row

from picloud.db.arrays import MessageColumns, number_array, text_array, uuid_array
from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import MessageNotFound
from picloud.types import AppId, ClaimToken, Json, Message, MessageId, MessageState, NewMessage, ScriptError, TriggerId

_sql = load("messages")

W = TypeVar("W")
"""A message, or a row of the outbox."""

PurgeState = Literal["ready", "delayed", "all"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATE_COMMITS = timedelta(seconds=2)
PRIORITIES = tuple(range(9, -1, -1))
"""Priority levels, highest first: the pull probes each, since one scan over all walks every delayed row."""
PRIORITY_LEVELS = number_array(PRIORITIES)


class Sent(NamedTuple):
    """What became of one message sent."""

    id: MessageId
    """The id of the earlier message where the dedup key was taken."""
    is_new: bool
    due_in: float | None
    """Seconds until it may be delivered, by the database's clock; None when it is not new."""


class Effect(NamedTuple):
    """A message that a handler sent; it exists only if the acknowledgement of `cause` holds its lease."""

    cause: UUID
    message: NewMessage


@dataclass(frozen=True, slots=True)
class Settlement:
    """What was handled under one claim token, messages or rows of the outbox, and what their handlers sent."""

    token: ClaimToken
    done: Sequence[UUID] = ()
    effects: Sequence[Effect] = ()


@dataclass(frozen=True, slots=True)
class Pulled(Generic[W]):
    """The next batch in ready order, and how many acknowledgements of the previous one held their lease."""

    messages: list[W]
    acked: int
    paused: bool = False
    """Somebody paused the queue: nothing is claimed until it is resumed."""
    retry_in: float | None = None
    """Seconds until the queue's rate allows another message, where it held some back."""
    lost: Sequence[UUID] = ()
    """What was to be acknowledged and whose lease was lost."""


@dataclass(frozen=True, slots=True)
class ReclaimedQueue:
    """What reclaim did in one queue."""

    app_id: AppId
    queue_name: str
    released: int
    dead: int


@dataclass(frozen=True, slots=True)
class DueQueue:
    """A queue with unclaimed messages; `due_in` seconds until its first is due, negative when it is overdue."""

    app_id: AppId
    queue_name: str
    due_in: float


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as an operator sees it."""

    id: MessageId
    queue_name: str
    payload: Json
    attempt: int
    max_attempts: int
    priority: int
    enqueued_at: datetime
    deliver_after: datetime
    claimed_at: datetime | None
    dedup_key: str | None
    state: MessageState


@dataclass(slots=True)
class LowWater:
    """Where the claim scan of each priority starts, so that dead rows before it are not walked again."""

    marks: list[datetime] = field(default_factory=lambda: [EPOCH] * len(PRIORITIES))

    def reset(self) -> bool:
        """Scan from the start again; return whether the marks stood higher."""
        if all(mark is EPOCH for mark in self.marks):
            return False
        self.marks = [EPOCH] * len(PRIORITIES)
        return True

    def advance(self, claimed: Sequence[Message]) -> None:
        """Move the marks behind what was just claimed, less a margin for transactions that commit late."""
        for message in claimed:
            at = PRIORITIES.index(message.priority)
            self.marks[at] = max(self.marks[at], message.deliver_after - LATE_COMMITS)


async def insert_messages(conn: Connection, app_id: AppId, messages: Sequence[NewMessage]) -> list[Sent]:
    """Insert `messages` into queues of one app, in order; a taken dedup key yields the earlier message's id.

    Atomic: one statement; a duplicate never stops the others.
    """
    if not messages:
        return []
    columns = MessageColumns.of(messages)
    if len(messages) > 1 and columns.are_alike:
        return await _insert_alike(conn, app_id, messages[0], columns)
    cur = await conn.execute(_sql.insert_messages, {"app_id": app_id, **columns.literals()})
    sent = []
    for (message_id, is_new, due_in), message in zip(await cur.fetchall(), messages, strict=True):
        if message_id is None:
            message_id = await _find_dedup_id(conn, app_id, message)
        sent.append(Sent(MessageId(message_id or message.id), is_new, due_in))
    return sent


async def _insert_alike(conn: Connection, app_id: AppId, first: NewMessage, columns: MessageColumns) -> list[Sent]:
    await conn.execute(
        _sql.insert_alike_messages,
        {
            "app_id": app_id,
            "queue_name": first.queue_name,
            "delay": first.delay,
            "priority": first.priority,
            "max_attempts": first.max_attempts,
            "trigger_depth": first.trigger_depth,
            "root_execution_id": first.root_execution_id,
            "parent_execution_id": first.parent_execution_id,
            "request_id": first.request_id,
            "ids": uuid_array(columns.ids),
            "payloads": text_array(columns.payloads),
        },
    )
    return [Sent(message_id, True, first.delay) for message_id in columns.ids]


async def pull_messages(
    conn: Connection,
    app_id: AppId,
    queue_name: str,
    *,
    settle: Settlement,
    claim_token: ClaimToken,
    limit: int,
    low_water: LowWater,
) -> Pulled[Message]:
    """Acknowledge `settle`, insert its effects and claim up to `limit` messages; 0 only settles.

    Atomic: one statement; effects of an acknowledgement that lost its lease are dropped.
    """
    effects = settle.effects
    parameters: dict[str, Any] = {
        "app_id": app_id,
        "queue_name": queue_name,
        "ack_ids": uuid_array(settle.done),
        "ack_token": settle.token,
        "claim_token": claim_token,
        "limit": limit,
        "priority_levels": PRIORITY_LEVELS,
        "low_waters": low_water.marks,
        # a claim alone need not wait for the disk: where it is lost, the message is ready again
        "is_durable": bool(settle.done),
        "causes": uuid_array([effect.cause for effect in effects]),
        **MessageColumns.of([effect.message for effect in effects]).literals(),
    }
    cur = await conn.execute(_sql.pull_messages, parameters)
    rows = await cur.fetchall()
    acked, paused, lost = rows[0][11], rows[0][12], rows[0][13] or ()
    if rows[0][0] is None:
        return Pulled([], acked, paused, lost=lost)
    # `returning` promises no order
    rows.sort(key=_ready_order)
    payloads = json.loads(f"[{','.join([row[1] for row in rows])}]")
    return Pulled(
        [Message(row[0], queue_name, payload, *row[2:11]) for row, payload in zip(rows, payloads, strict=True)],
        acked,
        lost=lost,
    )


def _ready_order(row: Sequence[Any]) -> tuple[int, datetime, UUID]:
    return (-row[4], row[6], row[0])


async def hold_messages(conn: Connection, token: ClaimToken, ids: Sequence[UUID]) -> set[UUID]:
    """Hold claimed messages until the transaction ends; return those whose lease is still held."""
    cur = await conn.execute(_sql.hold_messages, {"ids": list(ids), "claim_token": token})
    return {row[0] for row in await cur.fetchall()}


async def remove_messages(conn: Connection, token: ClaimToken, ids: Sequence[UUID]) -> None:
    """Acknowledge messages."""
    if ids:
        await conn.execute(_sql.remove_messages, {"ids": list(ids), "claim_token": token})


async def nack_messages(conn: Connection, token: ClaimToken, waits_ms: Sequence[tuple[UUID, float]]) -> int:
    """Give failed messages back, each due again after its wait; return how many still held their lease."""
    cur = await conn.execute(
        _sql.nack_messages,
        {"claim_token": token, "ids": [i for i, _ in waits_ms], "waits_ms": [float(w) for _, w in waits_ms]},
    )
    return cur.rowcount


async def release_messages(conn: Connection, token: ClaimToken, ids: Sequence[UUID]) -> int:
    """Give back messages that were claimed but not tried; return how many still held their lease."""
    cur = await conn.execute(_sql.release_messages, {"claim_token": token, "ids": list(ids)})
    return cur.rowcount


async def extend_leases(conn: Connection, token: ClaimToken, ids: Sequence[UUID]) -> int:
    """Start the leases anew; return how many were still held."""
    cur = await conn.execute(_sql.extend_leases, {"claim_token": token, "ids": list(ids)})
    return cur.rowcount


async def dead_letter_messages(
    conn: Connection,
    token: ClaimToken,
    failures: Sequence[tuple[UUID, str]],
    *,
    trigger_id: TriggerId | None,
    script_name: str | None,
    discarded_by: str | None = None,
) -> int:
    """Move failed messages to the dead letters; each failure is an id and its error as JSON text.

    `discarded_by`: who wants them gone; their dead letters are resolved from the start and fire no trigger.
    Atomic: one statement; returns how many still held their lease.
    """
    cur = await conn.execute(
        _sql.dead_letter_messages,
        {
            "claim_token": token,
            "ids": [i for i, _ in failures],
            "errors": [error for _, error in failures],
            "trigger_id": trigger_id,
            "script_name": script_name,
            "discarded_by": discarded_by,
        },
    )
    return cur.rowcount


async def reclaim_messages(conn: Connection, *, default_timeout_secs: int, limit: int) -> list[ReclaimedQueue]:
    """Give back up to `limit` messages whose lease ran out, or bury those with no attempt left."""
    cur = await conn.execute(_sql.reclaim_messages, {"default_timeout_secs": default_timeout_secs, "limit": limit})
    return [ReclaimedQueue(AppId(row[0]), *row[1:]) for row in await cur.fetchall()]


async def list_due_queues(conn: Connection) -> list[DueQueue]:
    """Return every queue that holds unclaimed messages."""
    cur = await conn.execute(_sql.list_due_queues)
    return [DueQueue(AppId(row[0]), row[1], row[2]) for row in await cur.fetchall()]


async def list_messages(
    conn: Connection,
    app_id: AppId,
    queue_name: str,
    *,
    state: MessageState | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> list[StoredMessage]:
    """Peek at a queue's messages in id order, without claiming them."""
    async with conn.cursor(row_factory=class_row(StoredMessage)) as cur:
        await cur.execute(
            _sql.list_messages,
            {"app_id": app_id, "queue_name": queue_name, "state": state, "after": after, "limit": limit},
        )
        return await cur.fetchall()


async def get_message(conn: Connection, app_id: AppId, message_id: MessageId) -> StoredMessage:
    """Return one message. Raises: MessageNotFound."""
    async with conn.cursor(row_factory=class_row(StoredMessage)) as cur:
        await cur.execute(_sql.get_message, {"app_id": app_id, "id": message_id})
        message = await cur.fetchone()
    if message is None:
        raise MessageNotFound(f"no message {message_id}: it was handled, dead-lettered or never sent")
    return message


async def promote_message(conn: Connection, app_id: AppId, message_id: MessageId) -> bool:
    """Make a delayed message due now; return whether there was one."""
    cur = await conn.execute(_sql.promote_message, {"app_id": app_id, "id": message_id})
    return cur.rowcount == 1


async def requeue_message(conn: Connection, app_id: AppId, message_id: MessageId) -> bool:
    """Take a claimed message from its handler, whose effects are then dropped; return whether there was one."""
    cur = await conn.execute(_sql.requeue_message, {"app_id": app_id, "id": message_id})
    return cur.rowcount == 1


async def purge_messages(conn: Connection, app_id: AppId, queue_name: str, state: PurgeState, limit: int) -> int:
    """Drop one batch of messages that nobody handles; return how many."""
    values = {"app_id": app_id, "queue_name": queue_name, "state": state, "limit": limit}
    return (await conn.execute(_sql.purge_messages, values)).rowcount


async def delete_message(conn: Connection, app_id: AppId, message_id: MessageId) -> bool:
    """Drop a message that nobody holds; return whether there was one."""
    cur = await conn.execute(_sql.delete_message, {"app_id": app_id, "id": message_id})
    return cur.rowcount == 1


async def vacuum_messages(conn: Connection) -> None:
    """Clear dead rows now instead of when autovacuum comes by; outside of a transaction."""
    await conn.execute(_sql.vacuum_messages)


def error_json(error: ScriptError) -> dict[str, Json]:
    """Return `error` as it is stored with a dead letter; what jsonb cannot carry is replaced, never an error."""
    return {
        "type": error.type,
        "message": _storable(error.message),
        "line": error.line,
        "source": _storable(error.source) if error.source is not None else None,
        "stack": [
            {"script": f.script, "line": f.line, "function": f.function, "source": _storable(f.source)}
            for f in error.stack
        ],
    }


def _storable(text: str) -> str:
    """Storing a failure must not fail: jsonb takes neither NUL nor lone surrogates."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


async def _find_dedup_id(conn: Connection, app_id: AppId, message: NewMessage) -> UUID | None:
    cur = await conn.execute(
        _sql.find_dedup_id,
        {"app_id": app_id, "queue_name": message.queue_name, "dedup_key": message.dedup_key},
    )
    row = await cur.fetchone()
    return row[0] if row else None
