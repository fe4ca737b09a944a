"""What a consumer asks of the database, on connections of the node's pool."""

from __future__ import annotations

from collections.abc import Sequence

from picloud.actors.settling import Verdict
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
from picloud.db.pool import Pool
from picloud.db.triggers import touch_queue_trigger
from picloud.types import ClaimToken, MessageId, QueueTrigger


class PoolQueueStore:
    """The statements of one queue's consumer; each is its own transaction."""

    __slots__ = ("_pool", "_trigger")

    def __init__(self, pool: Pool, trigger: QueueTrigger) -> None:
        self._pool = pool
        self._trigger = trigger

    async def pull(self, settle: Settlement, token: ClaimToken, limit: int, low_water: LowWater) -> Pulled:
        """Acknowledge, insert effects and claim, in one statement."""
        async with self._pool.connection() as conn:
            return await pull_messages(
                conn,
                self._trigger.app_id,
                self._trigger.queue_name,
                settle=settle,
                claim_token=token,
                limit=limit,
                low_water=low_water,
            )

    async def give_up(self, verdict: Verdict) -> None:
        """Nack, dead-letter and release what did not succeed."""
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
            if verdict.untried:
                await release_messages(conn, verdict.token, verdict.untried)

    async def extend(self, token: ClaimToken, ids: Sequence[MessageId]) -> int:
        """Start leases anew; return how many were held."""
        async with self._pool.connection() as conn:
            return await extend_leases(conn, token, ids)

    async def touch(self) -> None:
        """Note that the trigger fired."""
        async with self._pool.connection() as conn:
            await touch_queue_trigger(conn, self._trigger.id)
