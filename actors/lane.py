"""Lane: one batch of a queue at a time, from claim to settlement."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import trio
from uuid_utils.compat import uuid7

from picloud.actors.batch_size import BatchSize
from picloud.actors.retrying import OutageBackoff, retry_outages
from picloud.actors.runtime import HealthGauge
from picloud.actors.settling import Batch, Verdict, judge, judge_commit
from picloud.db.messages import LowWater, Pulled, Settlement
from picloud.db.units import Committed, Unit
from picloud.engine import Outcome
from picloud.errors import DatabaseUnavailable
from picloud.types import ClaimToken, Message, MessageId, QueueTrigger


class QueueStore(Protocol):
    """What a consumer asks of the database, for its one queue. Each may raise DatabaseUnavailable."""

    async def pull(self, settle: Settlement, token: ClaimToken, limit: int, low_water: LowWater) -> Pulled:
        """Acknowledge, insert effects and claim, in one statement."""

    async def commit(self, token: ClaimToken, units: Sequence[Unit]) -> Committed:
        """Acknowledge messages together with all that their handlers asked for."""

    async def give_up(self, verdict: Verdict) -> None:
        """Nack, dead-letter and release what did not succeed."""

    async def extend(self, token: ClaimToken, ids: Sequence[MessageId]) -> int:
        """Start leases anew; return how many were held."""

    async def touch(self) -> None:
        """Note that the trigger fired."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Outcomes of the first messages of a batch; the time slice was over before the others."""

    outcomes: Sequence[Outcome]
    seconds: float
    """How long a worker thread was held."""


Handle = Callable[[Sequence[Message]], Awaitable[Ran]]
"""Runs messages on a worker thread until the time slice is over. Cancelled means that none was run."""


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """Durations are seconds."""

    slice_secs: float = 0.05
    settle_timeout: float = 5.0
    """How long the last settlement may take at shutdown."""
    touch_interval: float = 5.0
    """How often the trigger's `last_fired_at` is written at most."""
    low_water_reset: float = 1.0
    """How often the claim scans from the start."""


class LaneOwner(Protocol):
    """The consumer, as its lanes see it."""

    trigger: QueueTrigger
    store: QueueStore
    handle: Handle
    config: ConsumerConfig
    health: HealthGauge
    stopping: bool
    paused: bool

    def settled(self, settlement: Settlement, acked: int) -> None:
        """Count what was acknowledged, and wake those who wait for its effects."""

    def committed(self, count: int, committed: Committed) -> None:
        """Count what became of `count` messages that were committed on their own."""

    def gave_up(self, verdict: Verdict) -> None:
        """Count failures, and set timers for those tried again."""

    def look_again(self, seconds: float) -> None:
        """Look for messages after a while: the queue's rate holds some back."""

    def found_more(self) -> None:
        """Note that the queue holds more than one batch."""

    async def note_fired(self) -> None:
        """Note that messages were handled."""


class Lane:
    """Pull, run and settle batches of one queue.

    All that it holds is in its attributes, so that its end can settle it: batches claimed and not run, what handlers
    did and the database does not know yet.
    """

    def __init__(self, owner: LaneOwner) -> None:
        trigger, config = owner.trigger, owner.config
        self.size = BatchSize(
            trigger.batch_size, slice_secs=config.slice_secs, visibility_timeout=trigger.visibility_timeout_secs
        )
        self._owner = owner
        self._claimed: deque[Batch] = deque()
        self._running: Batch | None = None
        self._to_settle: deque[Settlement] = deque()
        self._to_give_up: deque[Verdict] = deque()
        self._low_water = LowWater()
        self._low_water_at = trio.current_time()
        self._backoff = OutageBackoff(owner.health)

    @property
    def in_flight(self) -> int:
        """How many messages this lane holds a lease of."""
        if self._running is None and not self._claimed:
            return 0
        return sum(len(batch.messages) for batch in self._held())

    async def run(self, wait: Callable[[], Awaitable[bool]]) -> None:
        """Work until the owner stops or, when the queue is empty, `wait` says False; settle everything at the end."""
        try:
            while not self._owner.stopping:
                if self._claimed:
                    await self._work()
                elif not await self._fetch() and not await wait():
                    return
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + self._owner.config.settle_timeout):
                await self._finish()

    # --- claim

    async def _fetch(self) -> bool:
        """Settle what is done and claim the next batch; False when the queue has nothing for now."""
        try:
            found = await self._pull(self.size.current)
            if not found and self._low_water.reset():
                # what came late lies below the marks
                found = await self._pull(self.size.current)
            self._backoff.ok()
        except DatabaseUnavailable as error:
            await self._backoff.wait(error)
            return True
        return found or bool(self._to_settle)

    async def _pull(self, limit: int) -> bool:
        token = ClaimToken(uuid7())
        settlement = self._to_settle[0] if self._to_settle else None
        if trio.current_time() - self._low_water_at >= self._owner.config.low_water_reset:
            self._low_water.reset()
            self._low_water_at = trio.current_time()
        pulled = await self._owner.store.pull(settlement or Settlement(token), token, limit, self._low_water)
        if settlement is not None:
            self._to_settle.popleft()
            self._owner.settled(settlement, pulled.acked)
        self._owner.paused = pulled.paused
        if pulled.retry_in is not None:
            self._owner.look_again(pulled.retry_in)
        if not pulled.messages:
            return False
        self._low_water.advance(pulled.messages)
        self._claimed.append(Batch(token, pulled.messages))
        if len(pulled.messages) == limit:
            self._owner.found_more()
        return True

    # --- run

    async def _work(self) -> None:
        """Run one batch, and fetch the next meanwhile where handlers are fast enough that it will not wait long."""
        batch = self._running = self._claimed.popleft()
        async with trio.open_nursery() as nursery:
            lease_scope = trio.CancelScope()
            nursery.start_soon(self._keep_leases, lease_scope)
            if self.size.current > 1 and not self._claimed and not self._owner.stopping:
                nursery.start_soon(self._fetch)
            try:
                ran = await self._owner.handle(batch.messages)
            except trio.Cancelled:
                # not one of them was run
                self._running = None
                self._claimed.appendleft(batch)
                raise
            self._conclude(batch, ran)
            lease_scope.cancel()
        await self._give_up()
        await retry_outages(self._owner.note_fired, self._owner.health)

    def _conclude(self, batch: Batch, ran: Ran) -> None:
        """Take over what the handlers did; without a checkpoint, so that it is in hand whatever comes next."""
        self._running = None
        rest = batch.messages[len(ran.outcomes) :]
        if rest:
            self._claimed.appendleft(Batch(batch.token, rest))
        verdict = judge(self._owner.trigger, batch, ran.outcomes)
        if verdict.done:
            self._to_settle.append(verdict.settlement)
        if verdict.units or verdict.has_failures:
            self._to_give_up.append(verdict)
        self.size.ran(len(ran.outcomes), ran.seconds)

    async def _give_up(self) -> None:
        while self._to_give_up:
            verdict = self._to_give_up[0]
            if verdict.units:
                await self._commit(verdict)
            if verdict.has_failures:
                await retry_outages(partial(self._owner.store.give_up, verdict), self._owner.health)
            self._to_give_up.popleft()
            self._owner.gave_up(verdict)

    async def _commit(self, verdict: Verdict) -> None:
        units = [Unit(message.id, effects) for message, effects in verdict.units]
        committed = await retry_outages(partial(self._owner.store.commit, verdict.token, units), self._owner.health)
        judge_commit(self._owner.trigger, verdict, committed)
        self._owner.committed(len(units), committed)

    async def _keep_leases(self, scope: trio.CancelScope) -> None:
        """Extend the leases of all that is held, at a third of the visibility timeout."""
        with scope:
            while True:
                await trio.sleep(self._owner.trigger.visibility_timeout_secs / 3)
                for batch in self._held():
                    ids = [message.id for message in batch.messages]
                    await retry_outages(partial(self._owner.store.extend, batch.token, ids), self._owner.health)

    def _held(self) -> list[Batch]:
        return ([self._running] if self._running else []) + list(self._claimed)

    # --- end

    async def _finish(self) -> None:
        """Settle what was done and give the rest back; after an outage or a bug the leases run out instead."""
        try:
            await self._give_up()
            while self._to_settle:
                await self._pull(0)
            for batch in self._claimed:
                untried = [message.id for message in batch.messages]
                await self._owner.store.give_up(Verdict(batch.token, untried=untried))
            self._claimed.clear()
        except DatabaseUnavailable as error:
            self._owner.health.degraded(error)
