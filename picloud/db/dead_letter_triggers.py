"""Dead-letter triggers: which script hears of new dead letters. Source: sql/triggers.sql."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.scripts import get_script
from picloud.db.specs import read_spec
from picloud.db.sqlfile import load
from picloud.dead_letter_spec import DeadLetterTriggerSpec, check_dead_letter_spec
from picloud.errors import TriggerNotFound
from picloud.types import AppId, BackoffShape, TriggerId

_sql = load("triggers")


@dataclass(frozen=True, slots=True)
class DeadLetterTrigger:
    """A stored trigger."""

    id: TriggerId
    app_id: AppId
    script_name: str
    source: str | None
    queue_name: str | None
    enabled: bool
    retry_max_attempts: int
    retry_backoff: BackoffShape
    retry_base_ms: int
    created_at: datetime
    updated_at: datetime

    @property
    def spec(self) -> DeadLetterTriggerSpec:
        """What it is to be."""
        return read_spec(DeadLetterTriggerSpec, self)


async def insert_dead_letter_trigger(conn: Connection, app_id: AppId, spec: DeadLetterTriggerSpec) -> DeadLetterTrigger:
    """Let a script hear of new dead letters.

    Raises: ScriptNotFound, InvalidName, InvalidInput for a value out of range.
    """
    trigger_id = TriggerId(uuid7())
    await conn.execute(_sql.insert_dead_letter_trigger, await _values(conn, app_id, trigger_id, spec))
    return await get_dead_letter_trigger(conn, app_id, trigger_id)


async def update_dead_letter_trigger(
    conn: Connection, app_id: AppId, trigger_id: TriggerId, spec: DeadLetterTriggerSpec
) -> DeadLetterTrigger:
    """Make a trigger what `spec` says. Raises: as `insert_dead_letter_trigger`; TriggerNotFound."""
    await conn.execute(_sql.update_dead_letter_trigger, await _values(conn, app_id, trigger_id, spec))
    return await get_dead_letter_trigger(conn, app_id, trigger_id)


async def list_dead_letter_triggers(
    conn: Connection, app_id: AppId, *, after: UUID | None = None, limit: int | None = None
) -> list[DeadLetterTrigger]:
    """Return an app's dead-letter triggers in the order they were made."""
    return await _select(conn, app_id, after=after, limit=limit)


async def get_dead_letter_trigger(conn: Connection, app_id: AppId, trigger_id: TriggerId) -> DeadLetterTrigger:
    """Return one trigger. Raises: TriggerNotFound."""
    for trigger in await _select(conn, app_id, trigger_id=trigger_id, limit=1):
        return trigger
    raise TriggerNotFound(f"no trigger {trigger_id}")


async def _values(
    conn: Connection, app_id: AppId, trigger_id: TriggerId, spec: DeadLetterTriggerSpec
) -> dict[str, Any]:
    check_dead_letter_spec(spec)
    script = await get_script(conn, app_id, spec.script)
    return {**asdict(spec), "id": trigger_id, "app_id": app_id, "script_id": script.id}


async def _select(
    conn: Connection,
    app_id: AppId,
    *,
    after: UUID | None = None,
    trigger_id: TriggerId | None = None,
    limit: int | None,
) -> list[DeadLetterTrigger]:
    async with conn.cursor(row_factory=class_row(DeadLetterTrigger)) as cur:
        await cur.execute(
            _sql.list_dead_letter_triggers, {"app_id": app_id, "after": after, "id": trigger_id, "limit": limit}
        )
        return await cur.fetchall()
