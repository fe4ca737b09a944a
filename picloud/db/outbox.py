"""The outbox: events that wait for a script. Source: sql/outbox.sql."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from picloud.db.arrays import MessageColumns, uuid_array
from picloud.db.connection import Connection
from picloud.db.messages import LATE_COMMITS, Pulled, Settlement
from picloud.db.sqlfile import load
from picloud.types import (
    AppId,
    BackoffShape,
    ClaimToken,
    ExecutionId,
    Json,
    NewInvocation,
    ScriptId,
    TriggerId,
)

_sql = load("outbox")

FIRST_ID = UUID(int=0)
LAST_ID = UUID(int=2**128 - 1)


class Delivery(NamedTuple):
    """A claimed outbox row. A tuple, as messages are: thousands are made in a second."""

    id: UUID
    app_id: AppId
    app_name: str
    source_kind: str
    trigger_id: TriggerId | None
    script_id: ScriptId | None
    script_name: str | None
    """None: the script is gone."""
    script_app_id: AppId | None
    script_version: int | None
    """The current one when the row was claimed."""
    event: Json
    attempt: int
    """From 1."""
    max_attempts: int
    created_at: datetime
    deliver_after: datetime
    trigger_depth: int
    root_execution_id: ExecutionId | None
    retry_backoff: BackoffShape
    retry_base_ms: int
    parent_execution_id: ExecutionId | None = None
    """None: the root itself."""
    request_id: str | None = None


@dataclass(slots=True)
class Rotation:
    """Which app's turn it is, and where the scan of each app starts, so that dead rows before it are not walked."""

    left_out: Callable[[], Collection[AppId]] = tuple
    """Apps that get nothing for now: they have their share of the lanes."""
    last_app: UUID = FIRST_ID
    marks: dict[AppId, datetime] = field(default_factory=dict)

    def reset(self) -> bool:
        """Scan from the start again; return whether any mark stood higher."""
        had_marks = bool(self.marks)
        self.marks = {}
        return had_marks

    def advance(self, claimed: Sequence[Delivery]) -> None:
        """Move the marks behind what was just claimed, less a margin for transactions that commit late."""
        for delivery in claimed:
            mark = delivery.deliver_after - LATE_COMMITS
            earlier = self.marks.get(delivery.app_id)
            self.marks[delivery.app_id] = mark if earlier is None else max(mark, earlier)
        self.last_app = max((delivery.app_id for delivery in claimed), key=self._turn, default=self.last_app)

    def _turn(self, app_id: AppId) -> tuple[bool, UUID]:
        return (app_id <= self.last_app, app_id)

    def parameters(self) -> dict[str, Any]:
        """Return what the statement needs; other apps are looked for in the gaps between the known ones."""
        known = sorted(self.marks)
        return {
            "known_apps": uuid_array(known),
            "low_waters": [self.marks[app_id] for app_id in known],
            "gap_starts": uuid_array([FIRST_ID, *known]),
            "gap_ends": uuid_array([*known, LAST_ID]),
            "left_out": uuid_array(self.left_out()),
            "last_app": self.last_app,
        }


async def pull_deliveries(
    conn: Connection, *, settle: Settlement, claim_token: ClaimToken, limit: int, rotation: Rotation
) -> Pulled[Delivery]:
    """Acknowledge `settle`, insert its effects and claim up to `limit` rows, the apps in turn; 0 only settles.

    Atomic: one statement; effects of an acknowledgement that lost its lease are dropped.
    """
    effects = settle.effects
    parameters: dict[str, Any] = {
        "ack_ids": uuid_array(settle.done),
        "ack_token": settle.token,
        "claim_token": claim_token,
        "limit": limit,
        "causes": uuid_array([effect.cause for effect in effects]),
        **MessageColumns.of([effect.message for effect in effects]).literals(),
        **rotation.parameters(),
    }
    cur = await conn.execute(_sql.pull_deliveries, parameters)
    rows = await cur.fetchall()
    acked, lost = rows[0][-1], rows[0][-2] or ()
    if rows[0][0] is None:
        return Pulled([], acked, lost=lost)
    # decoded at once: psycopg takes several times as long, one by one
    events = json.loads(f"[{','.join([row[9] for row in rows])}]")
    claimed = [Delivery(*(*row[:9], event, *row[10:-2])) for row, event in zip(rows, events, strict=True)]
    return Pulled(_interleave(claimed), acked, lost=lost)


def _interleave(claimed: list[Delivery]) -> list[Delivery]:
    """Return each app's oldest, then each app's second, and so on: nobody's few wait behind another's many."""
    claimed.sort(key=attrgetter("app_id", "deliver_after", "id"))
    ranked: list[tuple[int, Delivery]] = []
    for _, own in groupby(claimed, key=attrgetter("app_id")):
        ranked += enumerate(own)
    ranked.sort(key=lambda pair: pair[0])
    return [delivery for _, delivery in ranked]


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
            "parent_execution_ids": [i.parent_execution_id for i in invocations],
            "request_ids": [i.request_id for i in invocations],
        },
    )


async def hold_deliveries(conn: Connection, token: ClaimToken, ids: Sequence[UUID]) -> set[UUID]:
    """Hold claimed rows until the transaction ends; return those whose lease is still held."""
    cur = await conn.execute(_sql.hold_deliveries, {"ids": list(ids), "claim_token": token})
    return {row[0] for row in await cur.fetchall()}


async def remove_deliveries(conn: Connection, token: ClaimToken, ids: Sequence[UUID]) -> None:
    """Acknowledge rows."""
    if ids:
        await conn.execute(_sql.remove_deliveries, {"ids": list(ids), "claim_token": token})


async def nack_deliveries(conn: Connection, token: ClaimToken, waits_ms: Sequence[tuple[UUID, float]]) -> int:
    """Give failed rows back, each due again after its wait; return how many still held their lease."""
    cur = await conn.execute(
        _sql.nack_deliveries,
        {"claim_token": token, "ids": [i for i, _ in waits_ms], "waits_ms": [float(w) for _, w in waits_ms]},
    )
    return cur.rowcount


async def release_deliveries(conn: Connection, token: ClaimToken, ids: Sequence[UUID]) -> int:
    """Give back what was claimed but not run; return how many still held their lease."""
    cur = await conn.execute(_sql.release_deliveries, {"claim_token": token, "ids": list(ids)})
    return cur.rowcount


async def extend_deliveries(conn: Connection, token: ClaimToken, ids: Sequence[UUID]) -> int:
    """Start leases anew; return how many were still held."""
    cur = await conn.execute(_sql.extend_deliveries, {"claim_token": token, "ids": list(ids)})
    return cur.rowcount


async def bury_deliveries(
    conn: Connection, token: ClaimToken, failures: Sequence[tuple[UUID, str]], *, discarded_by: str | None = None
) -> int:
    """Make rows that failed for good dead letters; each failure is an id and its error as JSON text.

    Those that somebody had cancelled, and wants gone, are resolved at once.

    Atomic: one statement; returns how many still held their lease.
    """
    cur = await conn.execute(
        _sql.bury_deliveries,
        {
            "claim_token": token,
            "ids": [i for i, _ in failures],
            "errors": [error for _, error in failures],
            "discarded_by": discarded_by,
        },
    )
    return cur.rowcount


async def reclaim_deliveries(conn: Connection, *, timeout_secs: float, limit: int) -> tuple[int, int]:
    """Give back, or bury, up to `limit` rows whose lease ran out; return how many of each."""
    cur = await conn.execute(_sql.reclaim_deliveries, {"timeout_secs": timeout_secs, "limit": limit})
    row = await cur.fetchone()
    assert row is not None
    return row[0], row[1]


async def vacuum_deliveries(conn: Connection) -> None:
    """Clear dead rows now instead of when autovacuum comes by; outside of a transaction."""
    await conn.execute(_sql.vacuum_deliveries)
