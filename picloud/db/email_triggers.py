"""Email triggers: which script runs for mails to which address of an app. Source: sql/email.sql."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import errors
from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.scripts import get_script
from picloud.db.specs import read_spec
from picloud.db.sqlfile import load
from picloud.errors import NameTaken, TriggerNotFound
from picloud.mail_spec import EmailTriggerSpec, Mailbox, check_email_spec
from picloud.types import AppId, BackoffShape, ScriptId, TriggerId

_sql = load("email")


@dataclass(frozen=True, slots=True)
class EmailTrigger:
    """Runs a script for each mail to an address."""

    id: TriggerId
    app_id: AppId
    app_name: str
    script_id: ScriptId
    script_name: str
    name: str
    enabled: bool
    retry_max_attempts: int
    retry_backoff: BackoffShape
    retry_base_ms: int
    created_at: datetime
    updated_at: datetime

    @property
    def address(self) -> str:
        """The address that works on every node."""
        return f"{self.name}@{self.app_name}"

    @property
    def spec(self) -> EmailTriggerSpec:
        """What was asked for."""
        return read_spec(EmailTriggerSpec, self)


@dataclass(frozen=True, slots=True)
class Recipient:
    """An address that a mail arrived for, and who wants it."""

    address: str
    trigger_id: TriggerId


async def insert_email_trigger(conn: Connection, app_id: AppId, spec: EmailTriggerSpec) -> EmailTrigger:
    """Have a script run for mails to an address.

    Raises: as `check_email_spec`; ScriptNotFound, NameTaken that names the trigger.
    """
    trigger_id = TriggerId(uuid7())
    await _write(conn, _sql.insert_email_trigger, app_id, trigger_id, spec)
    return await get_email_trigger(conn, app_id, trigger_id)


async def update_email_trigger(
    conn: Connection, app_id: AppId, trigger_id: TriggerId, spec: EmailTriggerSpec
) -> EmailTrigger:
    """Make a trigger what `spec` says. Raises: as `insert_email_trigger`; TriggerNotFound."""
    await get_email_trigger(conn, app_id, trigger_id)
    await _write(conn, _sql.update_email_trigger, app_id, trigger_id, spec)
    return await get_email_trigger(conn, app_id, trigger_id)


async def put_email_trigger(
    conn: Connection, app_id: AppId, spec: EmailTriggerSpec, stored: EmailTrigger | None
) -> EmailTrigger:
    """Make a trigger, or make the stored one what `spec` says. Raises: as both."""
    if stored is None:
        return await insert_email_trigger(conn, app_id, spec)
    return await update_email_trigger(conn, app_id, stored.id, spec)


async def list_email_triggers(
    conn: Connection, app_id: AppId, *, after: UUID | None = None, limit: int | None = None
) -> list[EmailTrigger]:
    """Return an app's email triggers in the order they were made."""
    return await _select(conn, app_id, after=after, limit=limit)


async def get_email_trigger(conn: Connection, app_id: AppId, trigger_id: TriggerId) -> EmailTrigger:
    """Return one trigger. Raises: TriggerNotFound."""
    for trigger in await _select(conn, app_id, trigger_id=trigger_id, limit=1):
        return trigger
    raise TriggerNotFound(f"no email trigger {trigger_id}")


async def find_mailbox_trigger(conn: Connection, mailbox: Mailbox) -> TriggerId | None:
    """Return who wants the mails to an address, if anybody does now."""
    row = await (await conn.execute(_sql.find_mailbox_trigger, mailbox._asdict())).fetchone()
    return None if row is None else TriggerId(row[0])


async def insert_mail(conn: Connection, event: str, recipients: Sequence[Recipient]) -> list[UUID]:
    """Put a mail into the outbox, one row for each recipient; return the rows' ids, in the same order.

    `event` is JSON text, all but the recipient.
    Atomic: one transaction, all or none.
    Raises: TriggerNotFound where one of the triggers is gone or disabled by now.
    """
    ids = [uuid7() for _ in recipients]
    values = {
        "event": event,
        "ids": ids,
        "trigger_ids": [one.trigger_id for one in recipients],
        "recipients": [one.address for one in recipients],
    }
    try:
        async with conn.transaction():
            cur = await conn.execute(_sql.insert_mail, values)
            if cur.rowcount != len(ids):
                raise TriggerNotFound("an address of the mail has no trigger any more")
    except (errors.ForeignKeyViolation, errors.DeadlockDetected) as error:
        raise TriggerNotFound("an address of the mail was deleted at that moment") from error
    return ids


async def _write(
    conn: Connection, statement: Any, app_id: AppId, trigger_id: TriggerId, spec: EmailTriggerSpec
) -> None:
    check_email_spec(spec)
    script = await get_script(conn, app_id, spec.script)
    try:
        async with conn.transaction():
            await conn.execute(statement, {**asdict(spec), "id": trigger_id, "app_id": app_id, "script_id": script.id})
    except errors.UniqueViolation as error:
        for other in await _select(conn, app_id, name=spec.name, limit=1):
            raise NameTaken(
                f"{other.address} is taken: trigger {other.id} runs script '{other.script_name}'; "
                "change or delete that trigger first"
            ) from error
        raise


async def _select(
    conn: Connection,
    app_id: AppId,
    *,
    after: UUID | None = None,
    trigger_id: TriggerId | None = None,
    name: str | None = None,
    limit: int | None = None,
) -> list[EmailTrigger]:
    async with conn.cursor(row_factory=class_row(EmailTrigger)) as cur:
        await cur.execute(
            _sql.list_email_triggers,
            {"app_id": app_id, "after": after, "id": trigger_id, "name": name, "limit": limit},
        )
        return await cur.fetchall()
