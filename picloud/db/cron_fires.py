"""Fire what is due, by the database's clock, once in the whole cluster. Source: sql/cron.sql."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.catch_up import CatchUp, Ticks, plan_ticks
from picloud.db.connection import Connection
from picloud.db.messages import Sent, insert_messages
from picloud.db.sqlfile import load
from picloud.errors import InvalidInput
from picloud.payload import encode_payload
from picloud.schedules import parse_schedule
from picloud.types import AppId, Json, MessageId, NewMessage, ScriptId, TriggerId

_sql = load("cron")

MAX_FIRES = 5000
"""Of one transaction, but for what one trigger makes up for; the triggers that come after it are left for the next."""
PATIENCE = 10.0
"""Seconds that a node may stand still in the middle of firing before the others take over."""


@dataclass(frozen=True, slots=True)
class DueTrigger:
    """A trigger that is due, held until the transaction ends."""

    trigger_id: TriggerId
    app_id: AppId
    script_id: ScriptId | None
    retry_max_attempts: int
    schedule: str
    timezone: str
    payload: Json
    queue_name: str | None
    catch_up: CatchUp
    catch_up_limit: int
    next_fire_at: datetime
    last_fired_at: datetime | None
    now: datetime
    """By the database's clock."""


@dataclass(frozen=True, slots=True)
class SentByCron:
    """Messages that were put into queues of one app."""

    app_id: AppId
    messages: Sequence[NewMessage]
    sent: Sequence[Sent]


@dataclass(frozen=True, slots=True)
class Fired:
    """What one batch did."""

    triggers: int = 0
    """How many were due."""
    fires: int = 0
    left_out: int = 0
    """Triggers that missed times which their policy does not make up for."""
    deliveries: int = 0
    """Fires that run a script."""
    sent: Sequence[SentByCron] = ()
    broken: Mapping[TriggerId, str] = field(default_factory=dict)
    """Triggers that this node cannot read, and why: they are left to others."""
    latest: float = 0.0
    """Seconds by which the latest of the newest times was late."""


@dataclass(frozen=True, slots=True)
class _Fire:
    delivery_id: UUID
    trigger: DueTrigger
    scheduled_for: datetime


async def fire_due(
    conn: Connection, *, limit: int, except_ids: Collection[TriggerId] = (), patience: float = PATIENCE
) -> Fired:
    """Fire up to `limit` triggers that are due: outbox rows and messages, with the rows that keep it to once.

    Units: `patience` in seconds, as `PATIENCE`.
    Atomic: one transaction; what another node holds is left to it.
    """
    async with conn.transaction():
        due = await _claim(conn, limit, except_ids, patience)
        plans, broken = _plan(due)
        fires = [
            _Fire(uuid7(), trigger, moment) for trigger in due if trigger.trigger_id in plans
            for moment in plans[trigger.trigger_id].due
        ]  # fmt: skip
        fires = await _insert_fires(conn, fires)
        runs = [fire for fire in fires if fire.trigger.script_id is not None]
        await _insert_deliveries(conn, runs)
        sent = await _send(conn, [fire for fire in fires if fire.trigger.script_id is None])
        await _advance(conn, plans)
    return Fired(
        triggers=len(due),
        fires=len(fires),
        left_out=sum(plan.has_left_out for plan in plans.values()),
        deliveries=len(runs),
        sent=sent,
        broken=broken,
        latest=max((_lateness(trigger, plans) for trigger in due), default=0.0),
    )


async def find_next_due(conn: Connection, *, except_ids: Collection[TriggerId] = ()) -> float | None:
    """Return in how many seconds a trigger is due, by the database's clock; None where there is none."""
    row = await (await conn.execute(_sql.find_next_due, {"except_ids": list(except_ids)})).fetchone()
    return None if row is None else float(row[0])


async def prune_fires(conn: Connection, *, older_than: float, limit: int) -> int:
    """Drop a batch of old records of what was fired for; return how many. Units: seconds."""
    return (await conn.execute(_sql.prune_cron_fires, {"older_than": older_than, "limit": limit})).rowcount


async def _claim(conn: Connection, limit: int, except_ids: Collection[TriggerId], patience: float) -> list[DueTrigger]:
    async with conn.cursor(row_factory=class_row(DueTrigger)) as cur:
        await cur.execute(
            _sql.claim_due_triggers,
            {"limit": limit, "except_ids": list(except_ids), "patience_ms": int(patience * 1000)},
        )
        return await cur.fetchall()


def _plan(due: Sequence[DueTrigger]) -> tuple[dict[TriggerId, Ticks], dict[TriggerId, str]]:
    """Work out what to fire for; many triggers have the same schedule."""
    known: dict[tuple[object, ...], Ticks] = {}
    plans: dict[TriggerId, Ticks] = {}
    broken: dict[TriggerId, str] = {}
    fires = 0
    for trigger in due:
        if fires >= MAX_FIRES:
            break
        key = (trigger.schedule, trigger.timezone, trigger.next_fire_at, trigger.catch_up, trigger.catch_up_limit)
        try:
            plan = known.get(key)
            # a time that was moved depends on when the trigger last fired, too
            if plan is None or not plan.due or plan.due[0] < trigger.next_fire_at:
                plan = known[key] = _plan_one(trigger)
            plans[trigger.trigger_id] = plan
            fires += len(plan.due)
        except InvalidInput as error:
            broken[trigger.trigger_id] = str(error)
    return plans, broken


def _plan_one(trigger: DueTrigger) -> Ticks:
    return plan_ticks(
        parse_schedule(trigger.schedule, trigger.timezone),
        trigger.next_fire_at,
        trigger.now,
        trigger.catch_up,
        trigger.catch_up_limit,
        last_fired_at=trigger.last_fired_at,
    )


def _lateness(trigger: DueTrigger, plans: Mapping[TriggerId, Ticks]) -> float:
    plan = plans.get(trigger.trigger_id)
    return (trigger.now - plan.due[-1]).total_seconds() if plan is not None and plan.due else 0.0


async def _insert_fires(conn: Connection, fires: Sequence[_Fire]) -> list[_Fire]:
    """Note what is fired for; return what nobody had fired for before."""
    if not fires:
        return []
    cur = await conn.execute(
        _sql.insert_cron_fires,
        {
            "trigger_ids": [fire.trigger.trigger_id for fire in fires],
            "scheduled_fors": [fire.scheduled_for for fire in fires],
            "delivery_ids": [fire.delivery_id for fire in fires],
        },
    )
    new = {row[0] for row in await cur.fetchall()}
    return [fire for fire in fires if fire.delivery_id in new]


async def _insert_deliveries(conn: Connection, fires: Sequence[_Fire]) -> None:
    if not fires:
        return
    await conn.execute(
        _sql.insert_cron_deliveries,
        {
            "ids": [fire.delivery_id for fire in fires],
            "app_ids": [fire.trigger.app_id for fire in fires],
            "trigger_ids": [fire.trigger.trigger_id for fire in fires],
            "script_ids": [fire.trigger.script_id for fire in fires],
            "events": [_event(fire) for fire in fires],
            "max_attempts": [fire.trigger.retry_max_attempts for fire in fires],
        },
    )


def _event(fire: _Fire) -> str:
    """Return the event as JSON text; the time as the trigger's own zone shows it."""
    schedule = parse_schedule(fire.trigger.schedule, fire.trigger.timezone)
    return json.dumps({"scheduled_for": schedule.show_local(fire.scheduled_for), "payload": fire.trigger.payload})


async def _send(conn: Connection, fires: Sequence[_Fire]) -> list[SentByCron]:
    by_app: dict[AppId, list[NewMessage]] = {}
    for fire in fires:
        assert fire.trigger.queue_name is not None
        message = NewMessage(
            MessageId(fire.delivery_id),
            fire.trigger.queue_name,
            encode_payload(fire.trigger.payload, max_bytes=2**31),
        )
        by_app.setdefault(fire.trigger.app_id, []).append(message)
    # apps in one order on all nodes, so that none waits for another in a circle
    return [
        SentByCron(app_id, by_app[app_id], await insert_messages(conn, app_id, by_app[app_id]))
        for app_id in sorted(by_app)
    ]


async def _advance(conn: Connection, plans: Mapping[TriggerId, Ticks]) -> None:
    if not plans:
        return
    await conn.execute(
        _sql.advance_cron_triggers,
        {
            "ids": list(plans),
            "next_fire_ats": [plan.next_fire_at for plan in plans.values()],
            "have_fired": [bool(plan.due) for plan in plans.values()],
        },
    )
