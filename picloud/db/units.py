"""Units of work with more than messages: committed with what was worked on, each whole or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from picloud.db.connection import Connection
from picloud.db.kv import change_keys, lock_keys, store_keys
from picloud.db.messages import Sent, hold_messages, insert_messages, remove_messages
from picloud.db.outbox import hold_deliveries, insert_invocations, remove_deliveries
from picloud.errors import KvError
from picloud.types import AppId, ClaimToken, Effects, ExecutionId, NewMessage


@dataclass(frozen=True, slots=True)
class Unit:
    """A message, or a row of the outbox, that was handled, and what its handler asked for."""

    cause: UUID
    effects: Effects
    execution_id: ExecutionId | None = None


@dataclass(slots=True)
class Committed:
    """What became of units: `done` are acknowledged; those of `refused` have an error; the others lost their lease."""

    done: list[UUID] = field(default_factory=list)
    refused: list[tuple[UUID, KvError]] = field(default_factory=list)
    messages: list[NewMessage] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    invocations: int = 0


class LeasedRows(NamedTuple):
    """A table whose rows are claimed under a token: how they are held for a transaction, and acknowledged."""

    hold: Callable[[Connection, ClaimToken, Sequence[UUID]], Awaitable[set[UUID]]]
    remove: Callable[[Connection, ClaimToken, Sequence[UUID]], Awaitable[None]]


MESSAGES = LeasedRows(hold_messages, remove_messages)
DELIVERIES = LeasedRows(hold_deliveries, remove_deliveries)


async def commit_units(
    conn: Connection, app_id: AppId, token: ClaimToken, units: Sequence[Unit], rows: LeasedRows = MESSAGES
) -> Committed:
    """Acknowledge `rows` of one app and apply what their handlers asked for, in order.

    Atomic: one transaction; a unit whose key was changed by another execution is refused and leaves nothing.
    """
    committed = Committed()
    async with conn.transaction():
        held = await rows.hold(conn, token, [unit.cause for unit in units])
        mine = [unit for unit in units if unit.cause in held]
        before = await lock_keys(conn, app_id, (write.key for unit in mine for write in unit.effects.writes))
        after, accepted = before, []
        for unit in mine:
            try:
                after = change_keys(after, unit.effects.writes)
            except KvError as refusal:
                committed.refused.append((unit.cause, refusal))
            else:
                accepted.append(unit)
        await store_keys(conn, app_id, before, after)
        committed.done = [unit.cause for unit in accepted]
        await rows.remove(conn, token, committed.done)
        await _insert(conn, app_id, [unit.effects for unit in accepted], committed)
    return committed


async def apply_effects(conn: Connection, app_id: AppId, effects: Effects, committed: Committed) -> None:
    """Apply what one handler asked for, in the caller's transaction. Raises: KvConflict, KvError."""
    before = await lock_keys(conn, app_id, (write.key for write in effects.writes))
    await store_keys(conn, app_id, before, change_keys(before, effects.writes))
    await _insert(conn, app_id, [effects], committed)


async def _insert(conn: Connection, app_id: AppId, all_effects: Sequence[Effects], committed: Committed) -> None:
    committed.messages = [message for effects in all_effects for message in effects.messages]
    committed.sent = await insert_messages(conn, app_id, committed.messages)
    invocations = [invocation for effects in all_effects for invocation in effects.invocations]
    await insert_invocations(conn, app_id, invocations)
    committed.invocations = len(invocations)
