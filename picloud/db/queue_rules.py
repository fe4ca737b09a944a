"""Rules of a queue that hold on all nodes together: how much at once, how fast, in order; its retention.

Source: sql/queues.sql.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from psycopg import errors
from psycopg.rows import class_row

from picloud.db.connection import Connection
from picloud.db.messages import LowWater, Pulled, Settlement, pull_messages
from picloud.db.queues import queue_not_found
from picloud.db.sqlfile import load
from picloud.db.triggers import explain_range
from picloud.types import AppId, ClaimToken, Message, QueueRules

_sql = load("queues")


@dataclass(frozen=True, slots=True)
class _Allowance:
    """How many messages may be claimed now; `wait` seconds until the rate allows one more, where it allows none."""

    count: int
    wait: float | None = None


async def pull_by_rules(
    conn: Connection,
    app_id: AppId,
    queue_name: str,
    *,
    settle: Settlement,
    claim_token: ClaimToken,
    limit: int,
    low_water: LowWater,
) -> Pulled[Message]:
    """Pull as `pull_messages` does, and no more than the queue's rules allow on all nodes together.

    Atomic: one transaction that holds the queue's row, so that no two claims count at the same time.
    """
    async with conn.transaction():
        rules = await _lock(conn, app_id, queue_name)
        allowed = await _allow(conn, app_id, queue_name, rules, settle, limit)
        pulled = await pull_messages(
            conn,
            app_id,
            queue_name,
            settle=settle,
            claim_token=claim_token,
            limit=allowed.count,
            low_water=low_water,
        )
        if rules.rate_per_second is not None and pulled.messages:
            spent = {"app_id": app_id, "name": queue_name, "count": len(pulled.messages)}
            await conn.execute(_sql.spend_rate, spent)
    return replace(pulled, retry_in=allowed.wait)


async def get_rules(conn: Connection, app_id: AppId, queue_name: str) -> QueueRules:
    """Return the rules of a queue. Raises: QueueNotFound."""
    async with conn.cursor(row_factory=class_row(QueueRules)) as cur:
        await cur.execute(_sql.get_rules, {"app_id": app_id, "name": queue_name})
        rules = await cur.fetchone()
    if rules is None:
        raise queue_not_found(queue_name)
    return rules


async def list_rules(conn: Connection, app_id: AppId, queue_names: Sequence[str]) -> dict[str, QueueRules]:
    """Return the rules of those of the queues that exist."""
    cur = await conn.execute(_sql.list_rules, {"app_id": app_id, "names": list(queue_names)})
    return {row[0]: QueueRules(*row[1:]) for row in await cur.fetchall()}


async def change_rules(conn: Connection, app_id: AppId, queue_name: str, rules: QueueRules) -> None:
    """Set the rules of a queue; messages that wait follow them, too.

    Atomic: one transaction. Raises: QueueNotFound, InvalidInput for a value out of range.
    """
    values = {"app_id": app_id, "name": queue_name, **asdict(rules)}
    try:
        async with conn.transaction():
            before = await get_rules(conn, app_id, queue_name)
            await conn.execute(_sql.change_queue, values)
            if before.fifo != rules.fifo:
                await conn.execute(_sql.regroup_messages, values)
    except errors.CheckViolation as error:
        raise explain_range(error) from error


async def _lock(conn: Connection, app_id: AppId, queue_name: str) -> QueueRules:
    cur = await conn.execute(_sql.lock_queue, {"app_id": app_id, "name": queue_name})
    row = await cur.fetchone()
    return QueueRules() if row is None else QueueRules(max_in_flight=row[0], rate_per_second=row[1])


async def _allow(
    conn: Connection, app_id: AppId, queue_name: str, rules: QueueRules, settle: Settlement, limit: int
) -> _Allowance:
    count, wait = limit, None
    if rules.max_in_flight is not None:
        values = {"app_id": app_id, "name": queue_name, "token": settle.token, "done": list(settle.done)}
        row = await (await conn.execute(_sql.count_claimed, values)).fetchone()
        assert row is not None
        count = min(count, max(0, rules.max_in_flight - row[0]))
    if rules.rate_per_second is not None:
        rate = {"app_id": app_id, "name": queue_name, "rate": rules.rate_per_second}
        row = await (await conn.execute(_sql.refill_rate, rate)).fetchone()
        assert row is not None
        if count > math.floor(row[0]):
            count = max(0, math.floor(row[0]))
            wait = max(0.0, (1 - (row[0] - count)) / rules.rate_per_second)
    return _Allowance(count, wait)
