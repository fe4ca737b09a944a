"""The outbox: events that wait for a script. Source: sql/outbox.sql."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.types import AppId, BackoffShape, ClaimToken, ExecutionId, Json, NewInvocation, ScriptId

_sql = load("outbox")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A claimed outbox row."""

    id: UUID
    app_id: AppId
    app_name: str
    source_kind: str
    script_id: ScriptId | None
    script_name: str | None
    """None: the script is gone."""
    script_app_id: AppId | None
    event: dict[str, Json]
    attempt: int
    max_attempts: int
    trigger_depth: int
    root_execution_id: ExecutionId | None
    retry_backoff: BackoffShape
    retry_base_ms: int


async def claim_deliveries(conn: Connection, token: ClaimToken, limit: int) -> list[Delivery]:
    """Claim up to `limit` due rows, oldest first."""
    async with conn.cursor(row_factory=class_row(Delivery)) as cur:
        await cur.execute(_sql.claim_outbox, {"claim_token": token, "limit": limit})
        return await cur.fetchall()


async def remove_delivery(conn: Connection, token: ClaimToken, delivery_id: UUID) -> bool:
    """Delete a row that was delivered; False when the lease was lost."""
    cur = await conn.execute(_sql.finish_outbox, {"ids": [delivery_id], "claim_token": token})
    return cur.rowcount == 1


async def insert_invocations(conn: Connection, app_id: AppId, invocations: Sequence[NewInvocation]) -> None:
    """Have scripts of one app run later, once each."""
    if not invocations:
        return
    await conn.execute(
        _sql.insert_invocations,
        {
            "app_id": app_id,
            "ids": [i.id for i in invocations],
            "script_ids": [i.script_id for i in invocations],
            "events": [i.event for i in invocations],
            "trigger_depths": [i.trigger_depth for i in invocations],
            "root_execution_ids": [i.root_execution_id for i in invocations],
        },
    )


async def nack_delivery(conn: Connection, token: ClaimToken, delivery: Delivery, wait_ms: float) -> int:
    """Give a failed delivery back, due again after its wait."""
    cur = await conn.execute(
        _sql.nack_outbox, {"claim_token": token, "ids": [delivery.id], "waits_ms": [float(wait_ms)]}
    )
    return cur.rowcount


async def release_deliveries(conn: Connection, token: ClaimToken, deliveries: Sequence[Delivery]) -> int:
    """Give back what was claimed but not run."""
    cur = await conn.execute(_sql.release_outbox, {"claim_token": token, "ids": [d.id for d in deliveries]})
    return cur.rowcount


async def bury_delivery(conn: Connection, token: ClaimToken, delivery: Delivery, error: str) -> int:
    """Make a delivery that failed for good a dead letter; `error` is JSON text."""
    cur = await conn.execute(_sql.bury_outbox, {"claim_token": token, "ids": [delivery.id], "errors": [error]})
    return cur.rowcount


async def reclaim_deliveries(conn: Connection, *, timeout_secs: float, limit: int) -> tuple[int, int]:
    """Give back, or bury, rows whose lease ran out; return how many of each."""
    cur = await conn.execute(_sql.reclaim_outbox, {"timeout_secs": timeout_secs, "limit": limit})
    row = await cur.fetchone()
    assert row is not None
    return row[0], row[1]
