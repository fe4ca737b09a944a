"""Queue triggers: which script consumes which queue. Source: sql/triggers.sql."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from psycopg import errors
from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.queues import ensure_queue
from picloud.db.scripts import get_script
from picloud.db.sqlfile import load
from picloud.errors import InvalidInput, QueueHasConsumer, TriggerNotFound
from picloud.names import check_queue_name
from picloud.types import AppId, BackoffShape, QueueTrigger, ScriptId, TriggerId, TriggerKind

_sql = load("triggers")

_RANGES = {
    "triggers_retry_max_attempts_range": "retry_max_attempts must be between 1 and 100",
    "triggers_retry_backoff_known": "retry_backoff must be exponential, linear or constant",
    "triggers_retry_base_ms_range": "retry_base_ms must be between 1 and 3600000",
    "queue_trigger_visibility_timeout_range": "visibility_timeout_secs must be between 1 and 43200",
    "queue_trigger_batch_size_range": "batch_size must be between 1 and 10000",
    "queue_trigger_concurrency_range": "concurrency must be between 1 and 64",
    "queues_max_in_flight_range": "max_in_flight must be between 1 and 100000",
    "queues_rate_range": "rate_per_second must be above 0 and 100000 at most",
    "queues_default_max_attempts_range": "default_max_attempts must be between 1 and 100",
    "queues_message_retention_range": "message_retention_secs must be between 1 and 31622400",
    "queues_dead_retention_range": "dead_retention_secs must be between 1 and 31622400",
}
"""What each named constraint means to the caller."""


@dataclass(frozen=True, slots=True)
class QueueTriggerSettings:
    """What can be set on a queue trigger."""

    enabled: bool = True
    visibility_timeout_secs: int = 30
    retry_max_attempts: int = 3
    retry_backoff: BackoffShape = "exponential"
    retry_base_ms: int = 1000
    batch_size: int = 500
    """Most messages in one claim; the consumer finds the right number below it."""
    concurrency: int = 1
    """How many batches of this queue one node may run at once."""


async def insert_queue_trigger(
    conn: Connection, app_id: AppId, script_name: str, queue_name: str, settings: QueueTriggerSettings
) -> QueueTrigger:
    """Bind a script to a queue.

    Atomic: lock, look, insert in one transaction, so that a queue has one consumer.
    Raises: InvalidName, ScriptNotFound, QueueHasConsumer that names the trigger, InvalidInput for a value out of range.
    """
    check_queue_name(queue_name)
    trigger_id = TriggerId(uuid7())
    try:
        async with conn.transaction():
            await conn.execute(_sql.lock_queue_consumer, {"app_id": app_id, "queue_name": queue_name})
            for other in await list_queue_triggers(conn, app_id=app_id, queue_name=queue_name):
                raise QueueHasConsumer(
                    f"queue '{queue_name}' has a consumer: trigger {other.id} runs script '{other.script_name}'; "
                    "change or delete that trigger first"
                )
            script = await get_script(conn, app_id, script_name)
            await conn.execute(
                _sql.insert_queue_trigger, _values(trigger_id, app_id, script.id, settings, queue_name=queue_name)
            )
            await ensure_queue(conn, app_id, queue_name)
            return await get_queue_trigger(conn, app_id, trigger_id)
    except errors.CheckViolation as error:
        raise explain_range(error) from error


async def update_queue_trigger(
    conn: Connection, app_id: AppId, trigger_id: TriggerId, settings: QueueTriggerSettings, *, script_id: ScriptId
) -> QueueTrigger:
    """Give a trigger new settings. Raises: TriggerNotFound, InvalidInput for a value out of range."""
    try:
        cur = await conn.execute(_sql.update_queue_trigger, _values(trigger_id, app_id, script_id, settings))
    except errors.CheckViolation as error:
        raise explain_range(error) from error
    if cur.rowcount == 0:
        raise TriggerNotFound(f"no queue trigger {trigger_id}")
    return await get_queue_trigger(conn, app_id, trigger_id)


async def list_queue_triggers(
    conn: Connection,
    *,
    app_id: AppId | None = None,
    queue_name: str | None = None,
    only_enabled: bool = False,
    after: UUID | None = None,
    limit: int | None = None,
) -> list[QueueTrigger]:
    """Return queue triggers in the order they were made: of one app or of all, from `after` on where it is given."""
    return await _select(
        conn, app_id=app_id, queue_name=queue_name, only_enabled=only_enabled, after=after, limit=limit
    )


async def fingerprint_queue_triggers(conn: Connection) -> str:
    """Return a text that changes whenever a queue trigger, a script or an app does: far cheaper than the list."""
    cur = await conn.execute(_sql.fingerprint_queue_triggers)
    row = await cur.fetchone()
    assert row is not None
    return str(row[0])


async def get_queue_trigger(conn: Connection, app_id: AppId, trigger_id: TriggerId) -> QueueTrigger:
    """Return one trigger. Raises: TriggerNotFound."""
    for trigger in await _select(conn, app_id=app_id, trigger_id=trigger_id):
        return trigger
    raise TriggerNotFound(f"no queue trigger {trigger_id}")


async def find_trigger_kind(conn: Connection, app_id: AppId, trigger_id: TriggerId) -> TriggerKind | None:
    """Return of which kind a trigger of the app is; None: there is none of that id."""
    row = await (await conn.execute(_sql.find_trigger_kind, {"id": trigger_id, "app_id": app_id})).fetchone()
    return None if row is None else row[0]


async def lock_trigger(conn: Connection, app_id: AppId, trigger_id: TriggerId) -> None:
    """Keep others from changing the trigger until the transaction ends. Raises: TriggerNotFound."""
    cur = await conn.execute(_sql.lock_trigger, {"id": trigger_id, "app_id": app_id})
    if cur.rowcount == 0:
        raise TriggerNotFound(f"no trigger {trigger_id}")


async def delete_trigger(conn: Connection, app_id: AppId, trigger_id: TriggerId) -> None:
    """Delete a trigger; its queue keeps its messages. Raises: TriggerNotFound."""
    cur = await conn.execute(_sql.delete_trigger, {"id": trigger_id, "app_id": app_id})
    if cur.rowcount == 0:
        raise TriggerNotFound(f"no trigger {trigger_id}")


async def touch_queue_trigger(conn: Connection, trigger_id: TriggerId) -> None:
    """Note that the trigger fired just now."""
    await conn.execute(_sql.touch_queue_trigger, {"trigger_id": trigger_id})


async def _select(
    conn: Connection,
    *,
    app_id: AppId | None = None,
    queue_name: str | None = None,
    trigger_id: TriggerId | None = None,
    only_enabled: bool = False,
    after: UUID | None = None,
    limit: int | None = None,
) -> list[QueueTrigger]:
    async with conn.cursor(row_factory=class_row(QueueTrigger)) as cur:
        await cur.execute(
            _sql.list_queue_triggers,
            {
                "app_id": app_id,
                "queue_name": queue_name,
                "id": trigger_id,
                "only_enabled": only_enabled,
                "after": after,
                "limit": limit,
            },
            # a plan for all combinations of filters would read every trigger each time
            prepare=False,
        )
        return await cur.fetchall()


def _values(
    trigger_id: TriggerId, app_id: AppId, script_id: ScriptId, settings: QueueTriggerSettings, **more: Any
) -> dict[str, Any]:
    return {"id": trigger_id, "app_id": app_id, "script_id": script_id, **asdict(settings), **more}


def explain_range(error: errors.CheckViolation) -> InvalidInput:
    name = error.diag.constraint_name or ""
    return InvalidInput(f"{'queue' if name.startswith('queues_') else 'trigger'}: {_RANGES.get(name, str(error))}")
