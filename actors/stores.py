"""What consumers and the outbox ask of the database, on connections of the node's pool."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from picloud.actors.settling import Verdict
from picloud.db.cron_fires import Fired, find_next_due, fire_due, prune_fires
from picloud.db.email_triggers import Recipient, find_mailbox_trigger, insert_mail
from picloud.db.messages import (
    LowWater,
    Pulled,
    Settlement,
    dead_letter_messages,
    extend_leases,
    nack_messages,
    pull_messages,
    release_messages,
)
from picloud.db.outbox import (
    Delivery,
    Rotation,
    bury_deliveries,
    extend_deliveries,
    nack_deliveries,
    pull_deliveries,
    reclaim_deliveries,
    release_deliveries,
)
from picloud.db.pool import Pool
from picloud.db.queue_rules import pull_by_rules
from picloud.db.triggers import touch_queue_trigger
from picloud.db.units import DELIVERIES, Committed, Unit, commit_units
from picloud.mail_spec import Mailbox
from picloud.types import AppId, ClaimToken, Message, QueueTrigger, TriggerId


class PoolOutboxStore:
    """The outbox's statements; each is its own transaction."""

    __slots__ = ("_pool",)

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def pull(self, settle: Settlement, token: ClaimToken, limit: int, rotation: Rotation) -> Pulled[Delivery]:
        """Acknowledge, insert effects and claim."""
        async with self._pool.connection() as conn:
            return await pull_deliveries(conn, settle=settle, claim_token=token, limit=limit, rotation=rotation)

    async def commit(self, app_id: AppId, token: ClaimToken, units: Sequence[Unit]) -> Committed:
        """Acknowledge one app's rows together with all that their handlers asked for."""
        async with self._pool.connection() as conn:
            return await commit_units(conn, app_id, token, units, DELIVERIES)

    async def give_up(self, verdict: Verdict[Delivery]) -> None:
        """Nack, dead-letter, discard and release what did not succeed."""
        async with self._pool.connection() as conn:
            if verdict.retry_ms:
                await nack_deliveries(conn, verdict.token, verdict.retry_ms)
            if verdict.dead:
                await bury_deliveries(conn, verdict.token, verdict.dead)
            for row_id, error, by in verdict.discarded:
                await bury_deliveries(conn, verdict.token, [(row_id, error)], discarded_by=by)
            if verdict.untried:
                await release_deliveries(conn, verdict.token, verdict.untried)

    async def extend(self, token: ClaimToken, ids: Sequence[UUID]) -> int:
        """Start leases anew; return how many were held."""
        async with self._pool.connection() as conn:
            return await extend_deliveries(conn, token, ids)

    async def reclaim(self, timeout_secs: float, limit: int) -> tuple[int, int]:
        """Give back what died with its node."""
        async with self._pool.connection() as conn:
            return await reclaim_deliveries(conn, timeout_secs=timeout_secs, limit=limit)


class PoolCronStore:
    """The statements of cron triggers."""

    __slots__ = ("_pool",)

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def fire(self, limit: int, except_ids: Collection[TriggerId]) -> Fired:
        """Fire a batch of what is due, in one transaction."""
        async with self._pool.connection() as conn:
            return await fire_due(conn, limit=limit, except_ids=except_ids)

    async def next_due(self, except_ids: Collection[TriggerId]) -> float | None:
        """Return in how many seconds something is due."""
        async with self._pool.connection() as conn:
            return await find_next_due(conn, except_ids=except_ids)

    async def prune(self, older_than: float, limit: int) -> int:
        """Forget a batch of what was fired for long ago."""
        async with self._pool.connection() as conn:
            return await prune_fires(conn, older_than=older_than, limit=limit)


class PoolMailStore:
    """The statements of the SMTP receiver."""

    __slots__ = ("_pool",)

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find_trigger(self, mailbox: Mailbox) -> TriggerId | None:
        """Return who wants the mails to an address."""
        async with self._pool.connection() as conn:
            return await find_mailbox_trigger(conn, mailbox)

    async def store(self, event: str, recipients: Sequence[Recipient]) -> list[UUID]:
        """Put a mail into the outbox, in one transaction."""
        async with self._pool.connection() as conn:
            return await insert_mail(conn, event, recipients)


class PoolQueueStore:
    """The statements of one queue's consumer; each is its own transaction."""

    __slots__ = ("_pool", "_trigger")

    def __init__(self, pool: Pool, trigger: QueueTrigger) -> None:
        self._pool = pool
        self._trigger = trigger

    async def pull(self, settle: Settlement, token: ClaimToken, limit: int, low_water: LowWater) -> Pulled[Message]:
        """Acknowledge, insert effects and claim."""
        trigger = self._trigger
        has_rules = trigger.max_in_flight is not None or trigger.rate_per_second is not None
        pull = pull_by_rules if has_rules else pull_messages
        async with self._pool.connection() as conn:
            return await pull(
                conn,
                trigger.app_id,
                trigger.queue_name,
                settle=settle,
                claim_token=token,
                limit=limit,
                low_water=low_water,
            )

    async def commit(self, app_id: AppId, token: ClaimToken, units: Sequence[Unit]) -> Committed:
        """Acknowledge messages together with all that their handlers asked for."""
        async with self._pool.connection() as conn:
            return await commit_units(conn, app_id, token, units)

    async def give_up(self, verdict: Verdict[Message]) -> None:
        """Nack, dead-letter, discard and release what did not succeed."""
        async with self._pool.connection() as conn:
            if verdict.retry_ms:
                await nack_messages(conn, verdict.token, verdict.retry_ms)
            if verdict.dead:
                await dead_letter_messages(
                    conn,
                    verdict.token,
                    verdict.dead,
                    trigger_id=self._trigger.id,
                    script_name=self._trigger.script_name,
                )
            for message_id, error, by in verdict.discarded:
                await dead_letter_messages(
                    conn,
                    verdict.token,
                    [(message_id, error)],
                    trigger_id=self._trigger.id,
                    script_name=self._trigger.script_name,
                    discarded_by=by,
                )
            if verdict.untried:
                await release_messages(conn, verdict.token, verdict.untried)

    async def extend(self, token: ClaimToken, ids: Sequence[UUID]) -> int:
        """Start leases anew; return how many were held."""
        async with self._pool.connection() as conn:
            return await extend_leases(conn, token, ids)

    async def touch(self) -> None:
        """Note that the trigger fired."""
        async with self._pool.connection() as conn:
            await touch_queue_trigger(conn, self._trigger.id)
