"""Dead-letter triggers: which script hears of new dead letters. Source: sql/triggers.sql."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg import errors
from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.scripts import get_script
from picloud.db.sqlfile import load
from picloud.db.triggers import explain_range
from picloud.errors import TriggerNotFound
from picloud.names import check_queue_name
from picloud.types import AppId, BackoffShape, TriggerId

_sql = load("triggers")


@dataclass(frozen=True, slots=True)
class DeadLetterTrigger:
    """Runs a script for every new dead letter of an app that `source` and `queue_name` let through; None: any."""

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


async def insert_dead_letter_trigger(
    conn: Connection,
    app_id: AppId,
    script_name: str,
    *,
    source: str | None = None,
    queue_name: str | None = None,
    enabled: bool = True,
    retry_max_attempts: int = 3,
    retry_backoff: BackoffShape = "exponential",
    retry_base_ms: int = 1000,
) -> DeadLetterTrigger:
    """Let a script hear of new dead letters.

    Raises: ScriptNotFound, InvalidName, InvalidInput for a value out of range.
    """
    if queue_name is not None:
        check_queue_name(queue_name)
    trigger_id = TriggerId(uuid7())
    script = await get_script(conn, app_id, script_name)
    values = {
        "id": trigger_id,
        "app_id": app_id,
        "script_id": script.id,
        "source": source,
        "queue_name": queue_name,
        "enabled": enabled,
        "retry_max_attempts": retry_max_attempts,
        "retry_backoff": retry_backoff,
        "retry_base_ms": retry_base_ms,
    }
    try:
        await conn.execute(_sql.insert_dead_letter_trigger, values)
    except errors.CheckViolation as error:
        raise explain_range(error) from error
    return await get_dead_letter_trigger(conn, app_id, trigger_id)


async def list_dead_letter_triggers(
    conn: Connection, app_id: AppId, *, after: UUID | None = None, limit: int = 50
) -> list[DeadLetterTrigger]:
    """Return an app's dead-letter triggers in the order they were made."""
    return await _select(conn, app_id, after=after, limit=limit)


async def get_dead_letter_trigger(conn: Connection, app_id: AppId, trigger_id: TriggerId) -> DeadLetterTrigger:
    """Return one trigger. Raises: TriggerNotFound."""
    for trigger in await _select(conn, app_id, trigger_id=trigger_id, limit=1):
        return trigger
    raise TriggerNotFound(f"no trigger {trigger_id}")


async def _select(
    conn: Connection, app_id: AppId, *, after: UUID | None = None, trigger_id: TriggerId | None = None, limit: int
) -> list[DeadLetterTrigger]:
    async with conn.cursor(row_factory=class_row(DeadLetterTrigger)) as cur:
        await cur.execute(
            _sql.list_dead_letter_triggers, {"app_id": app_id, "after": after, "id": trigger_id, "limit": limit}
        )
        return await cur.fetchall()
