"""Cron triggers: which script runs, or which queue gets a message, at which times. Source: sql/cron.sql."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.catch_up import CatchUp
from picloud.cron_spec import CronTriggerSpec, check_cron_spec
from picloud.db.connection import Connection
from picloud.db.scripts import get_script
from picloud.db.specs import read_spec
from picloud.db.sqlfile import load
from picloud.errors import InvalidInput, TriggerNotFound
from picloud.payload import MAX_PAYLOAD_BYTES
from picloud.schedules import Schedule, parse_schedule
from picloud.types import AppId, BackoffShape, Json, ScriptId, TriggerId

_sql = load("cron")


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """Runs a script, or sends a message, at the times of a schedule."""

    id: TriggerId
    app_id: AppId
    script_id: ScriptId | None
    script_name: str | None
    queue_name: str | None
    schedule: str
    timezone: str
    payload: Json
    catch_up: CatchUp
    catch_up_limit: int
    enabled: bool
    retry_max_attempts: int
    retry_backoff: BackoffShape
    retry_base_ms: int
    next_fire_at: datetime | None
    """None: disabled, or it never comes again."""
    last_fired_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def spec(self) -> CronTriggerSpec:
        """What was asked for."""
        return read_spec(CronTriggerSpec, self)

    @property
    def next_fires(self) -> list[datetime]:
        """The next times in UTC; none while it is disabled."""
        if self.next_fire_at is None:
            return []
        try:
            later = parse_schedule(self.schedule, self.timezone).list_next(self.next_fire_at)
        except InvalidInput:
            # made by a node that knows more time zones
            later = []
        return [self.next_fire_at, *later[:-1]]


async def insert_cron_trigger(
    conn: Connection, app_id: AppId, spec: CronTriggerSpec, *, max_payload_bytes: int = MAX_PAYLOAD_BYTES
) -> CronTrigger:
    """Have a script run, or a message sent, at the times of a schedule, from now on.

    Raises: as `check_cron_spec`; ScriptNotFound.
    """
    trigger_id = TriggerId(uuid7())
    values = await _values(conn, app_id, trigger_id, spec, max_payload_bytes)
    await conn.execute(_sql.insert_cron_trigger, values)
    return await get_cron_trigger(conn, app_id, trigger_id)


async def update_cron_trigger(
    conn: Connection,
    app_id: AppId,
    trigger_id: TriggerId,
    spec: CronTriggerSpec,
    *,
    max_payload_bytes: int = MAX_PAYLOAD_BYTES,
) -> CronTrigger:
    """Make a trigger what `spec` says. Another schedule counts from now on, and so does one that is enabled again.

    Atomic: the caller's transaction. Raises: as `check_cron_spec`; TriggerNotFound, ScriptNotFound.
    """
    old = (await get_cron_trigger(conn, app_id, trigger_id)).spec
    values = await _values(conn, app_id, trigger_id, spec, max_payload_bytes)
    same_times = (old.schedule, old.timezone, old.enabled) == (values["schedule"], spec.timezone, spec.enabled)
    await conn.execute(_sql.update_cron_trigger, {**values, "is_rescheduled": not same_times})
    return await get_cron_trigger(conn, app_id, trigger_id)


async def list_cron_triggers(
    conn: Connection, app_id: AppId, *, after: UUID | None = None, limit: int | None = None
) -> list[CronTrigger]:
    """Return an app's cron triggers in the order they were made."""
    return await _select(conn, app_id, after=after, limit=limit)


async def get_cron_trigger(conn: Connection, app_id: AppId, trigger_id: TriggerId) -> CronTrigger:
    """Return one trigger. Raises: TriggerNotFound."""
    for trigger in await _select(conn, app_id, trigger_id=trigger_id, limit=1):
        return trigger
    raise TriggerNotFound(f"no cron trigger {trigger_id}")


async def tell_time(conn: Connection) -> datetime:
    """Return what the database's clock shows."""
    row = await (await conn.execute(_sql.tell_time)).fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment


async def _values(
    conn: Connection, app_id: AppId, trigger_id: TriggerId, spec: CronTriggerSpec, max_payload_bytes: int
) -> dict[str, Any]:
    schedule, payload = check_cron_spec(spec, max_payload_bytes=max_payload_bytes)
    script_id = None if spec.script is None else (await get_script(conn, app_id, spec.script)).id
    next_fire_at = await _find_next(conn, schedule) if spec.enabled else None
    return {
        **asdict(spec),
        "id": trigger_id,
        "app_id": app_id,
        "script_id": script_id,
        "schedule": schedule.text,
        "payload": payload,
        "next_fire_at": next_fire_at,
    }


async def _find_next(conn: Connection, schedule: Schedule) -> datetime | None:
    return schedule.next_after(await tell_time(conn))


async def _select(
    conn: Connection,
    app_id: AppId,
    *,
    after: UUID | None = None,
    trigger_id: TriggerId | None = None,
    limit: int | None = None,
) -> list[CronTrigger]:
    async with conn.cursor(row_factory=class_row(CronTrigger)) as cur:
        await cur.execute(_sql.list_cron_triggers, {"app_id": app_id, "after": after, "id": trigger_id, "limit": limit})
        return await cur.fetchall()
