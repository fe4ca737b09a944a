"""Lane: one batch at a time, from claim to settlement; of a queue's messages, or of the outbox."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import trio
from uuid_utils.compat import uuid7

from picloud.actors.batch_size import GROWTH, BatchSize
from picloud.actors.recording import Amend
from picloud.actors.retrying import OutageBackoff, retry_outages
from picloud.actors.runtime import HealthGauge
from picloud.actors.settling import Batch, Refused, Verdict, W, judge, judge_commit
from picloud.db.messages import Pulled, Settlement
from picloud.db.units import Committed, Unit
from picloud.engine import Outcome
from picloud.errors import DatabaseUnavailable
from picloud.types import AppId, ClaimToken, ScriptError

W_contra = TypeVar("W_contra", contravariant=True)


class Scan(Protocol[W_contra]):
    """Where a lane's claims begin to look, so that what is dead or had its turn is not walked again."""

    def reset(self) -> bool:
        """Look from the start again; return whether that makes a difference."""

    def advance(self, claimed: Sequence[W_contra], /) -> None:
        """Note what was just claimed."""


S = TypeVar("S", bound=Scan[Any])
S_contra = TypeVar("S_contra", bound=Scan[Any], contravariant=True)


class LaneStore(Protocol[W, S_contra]):
    """What lanes ask of the database. Each may raise DatabaseUnavailable."""

    async def pull(self, settle: Settlement, token: ClaimToken, limit: int, scan: S_contra, /) -> Pulled[W]:
        """Acknowledge, insert effects and claim, in one statement."""

    async def commit(self, app_id: AppId, token: ClaimToken, units: Sequence[Unit]) -> Committed:
        """Acknowledge what is of one app together with all that its handlers asked for."""

    async def give_up(self, verdict: Verdict[W]) -> None:
        """Nack, dead-letter and release what did not succeed."""

    async def extend(self, token: ClaimToken, ids: Sequence[UUID]) -> int:
        """Start leases anew; return how many were held."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Outcomes of the first of a batch; the time slice was over before the others."""

    outcomes: Sequence[Outcome | Refused]
    seconds: float
    """How long a worker thread was held."""


Handle = Callable[[Sequence[W]], Awaitable[Ran]]
"""Runs handlers on a worker thread until the time slice is over. Cancelled means that none was run."""


@dataclass(frozen=True, slots=True)
class LaneConfig:
    """Durations are seconds."""

    lease: float
    """How long a claim holds; it is extended at a third of this."""
    batch_size: int
    """At most so many at once."""
    slice_secs: float = 0.05
    settle_timeout: float = 5.0
    """How long the last settlement may take at shutdown."""
    scan_reset: float = 1.0
    """How often the claim scans from the start."""
    shares: bool = False
    """Whether others may take what this lane claimed when its handlers were faster than they turned out to be."""


class LaneOwner(Protocol[W, S]):
    """The consumer, or the outbox, as its lanes see it."""

    @property
    def store(self) -> LaneStore[W, S]: ...

    @property
    def health(self) -> HealthGauge: ...

    stopping: bool

    def retry_wait_ms(self, item: W, /) -> float:
        """Return after how many milliseconds what failed is tried again."""

    def limit(self, lane: Lane[W, S], /) -> int:
        """Return how much a lane may claim now; 0: it only settles."""

    def pulled(self, pulled: Pulled[W], limit: int, /) -> None:
        """Take note of what a claim of up to `limit` found."""

    def settled(self, verdict: Verdict[W], acked: int, /) -> None:
        """Count what was acknowledged, and wake those who wait for its effects."""

    def committed(self, app_id: AppId, count: int, committed: Committed, /) -> None:
        """Count what became of `count` that were committed on their own."""

    def gave_up(self, verdict: Verdict[W], /) -> None:
        """Count failures, and set timers for those tried again."""

    @property
    def amend(self) -> Amend:
        """Corrects what was recorded of an execution whose effects were not committed."""

    async def note_fired(self) -> None:
        """Note that something was handled."""


class Lane(Generic[W, S]):
    """Pull, run and settle batches.

    All that it holds is in its attributes, so that its end can settle it: batches claimed and not run, what handlers
    did and the database does not know yet.
    """

    def __init__(self, owner: LaneOwner[W, S], handle: Handle[W], scan: S, config: LaneConfig) -> None:
        self.size = BatchSize(config.batch_size, slice_secs=config.slice_secs, visibility_timeout=config.lease)
        self._owner = owner
        self._handle = handle
        self._config = config
        self._claimed: deque[Batch[W]] = deque()
        self._running: Batch[W] | None = None
        self._to_settle: deque[Verdict[W]] = deque()
        self._to_give_up: deque[Verdict[W]] = deque()
        self._scan = scan
        self._has_more = False
        """The last claim brought all that it asked for: there is probably more."""
        self._scan_reset_at = trio.current_time()
        self._backoff = OutageBackoff(owner.health)

    @property
    def in_flight(self) -> int:
        """How much this lane holds a lease of."""
        if self._running is None and not self._claimed:
            return 0
        return sum(len(batch.items) for batch in self._held())

    async def run(self, wait: Callable[[], Awaitable[bool]]) -> None:
        """Work until the owner stops or, when nothing is due, `wait` says False; settle everything at the end."""
        try:
            while not self._owner.stopping:
                if self._claimed:
                    await self._work()
                elif not await self._fetch() and not await wait():
                    return
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + self._config.settle_timeout):
                await self._finish()

    # --- claim

    async def _fetch(self) -> bool:
        """Settle what is done and claim the next batch; False when there is nothing for now."""
        limit = self._owner.limit(self)
        if not limit and not self._to_settle:
            return False
        try:
            found = await self._pull(limit)
            if not found and limit and self._scan.reset():
                # what came late lies below the marks
                found = await self._pull(limit)
            self._backoff.ok()
        except DatabaseUnavailable as error:
            if self._to_settle:
                self._to_settle[0].is_doubtful = True
            await self._backoff.wait(error)
            return True
        return found or bool(self._to_settle)

    async def _pull(self, limit: int) -> bool:
        token = ClaimToken(uuid7())
        verdict = self._to_settle[0] if self._to_settle else None
        if trio.current_time() - self._scan_reset_at >= self._config.scan_reset:
            self._scan.reset()
            self._scan_reset_at = trio.current_time()
        settlement = Settlement(token) if verdict is None else verdict.settlement
        pulled = await self._owner.store.pull(settlement, token, limit, self._scan)
        if verdict is not None:
            self._to_settle.popleft()
            self._owner.settled(verdict, pulled.acked)
            if pulled.lost and not verdict.is_doubtful:
                lost = set(pulled.lost)
                for item_id, (app_id, execution_id) in zip(verdict.done, verdict.executions, strict=True):
                    if item_id in lost:
                        self._owner.amend(app_id, execution_id, "lease_lost", None)
        self._has_more = 0 < len(pulled.messages) == limit
        if pulled.messages:
            self._scan.advance(pulled.messages)
            self._claimed.append(Batch(token, pulled.messages))
        self._owner.pulled(pulled, limit)
        return bool(pulled.messages)

    # --- run

    async def _work(self) -> None:
        """Run one batch, and fetch the next meanwhile where handlers are fast enough that it will not wait long."""
        batch = self._running = self._claimed.popleft()
        async with trio.open_nursery() as nursery:
            lease_scope = trio.CancelScope()
            nursery.start_soon(self._keep_leases, lease_scope)
            if self.size.current > 1 and self._has_more and not self._claimed and not self._owner.stopping:
                nursery.start_soon(self._fetch)
            try:
                ran = await self._handle(batch.items)
            except trio.Cancelled:
                # not one of them was run
                self._running = None
                self._claimed.appendleft(batch)
                raise
            self._conclude(batch, ran)
            lease_scope.cancel()
        await self._give_up()
        await retry_outages(self._owner.note_fired, self._owner.health)

    def _conclude(self, batch: Batch[W], ran: Ran) -> None:
        """Take over what the handlers did; without a checkpoint, so that it is in hand whatever comes next."""
        self._running = None
        rest = batch.items[len(ran.outcomes) :]
        if rest:
            self._claimed.appendleft(Batch(batch.token, rest))
        verdict = judge(batch, ran.outcomes, self._owner.retry_wait_ms)
        if verdict.done:
            self._to_settle.append(verdict)
        if verdict.units or verdict.has_failures:
            self._to_give_up.append(verdict)
        self.size.ran(len(ran.outcomes), ran.seconds)
        if self._config.shares and sum(len(one.items) for one in self._claimed) > GROWTH * self.size.current:
            self._share()

    def _share(self) -> None:
        """Keep one batch as large as it is to be now; the rest is given back, for other lanes."""
        kept, room = deque[Batch[W]](), self.size.current
        for batch in self._claimed:
            mine, rest = batch.items[:room], batch.items[room:]
            room -= len(mine)
            if mine:
                kept.append(Batch(batch.token, mine))
            if rest:
                self._to_give_up.append(Verdict(batch.token, untried=[item.id for item in rest]))
        self._claimed = kept

    async def _give_up(self) -> None:
        while self._to_give_up:
            verdict = self._to_give_up[0]
            while verdict.units:
                await self._commit(verdict, next(iter(verdict.units)))
            if verdict.has_failures:
                await retry_outages(partial(self._owner.store.give_up, verdict), self._owner.health)
            self._to_give_up.popleft()
            self._owner.gave_up(verdict)

    async def _commit(self, verdict: Verdict[W], app_id: AppId) -> None:
        units = verdict.units[app_id]
        work = [unit for _, unit in units]
        tries = 0

        async def commit() -> Committed:
            nonlocal tries
            tries += 1
            return await self._owner.store.commit(app_id, verdict.token, work)

        committed = await retry_outages(commit, self._owner.health)
        del verdict.units[app_id]
        self._amend_units(app_id, work, committed, is_doubtful=tries > 1)
        judge_commit(verdict, units, committed, self._owner.retry_wait_ms)
        self._owner.committed(app_id, len(units), committed)

    def _amend_units(self, app_id: AppId, units: Sequence[Unit], committed: Committed, *, is_doubtful: bool) -> None:
        refused, done = dict(committed.refused), set(committed.done)
        for unit in units:
            if unit.execution_id is None or unit.cause in done:
                continue
            if unit.cause in refused:
                self._owner.amend(app_id, unit.execution_id, "error", ScriptError.of(refused[unit.cause]))
            elif not is_doubtful:
                self._owner.amend(app_id, unit.execution_id, "lease_lost", None)

    async def _keep_leases(self, scope: trio.CancelScope) -> None:
        """Extend the leases of all that is held, at a third of their time."""
        with scope:
            while True:
                await trio.sleep(self._config.lease / 3)
                for batch in self._held():
                    extend = partial(self._owner.store.extend, batch.token, batch.ids)
                    await retry_outages(extend, self._owner.health)

    def _held(self) -> list[Batch[W]]:
        return ([self._running] if self._running else []) + list(self._claimed)

    # --- end

    async def _finish(self) -> None:
        """Settle what was done and give the rest back; after an outage or a bug the leases run out instead."""
        try:
            await self._give_up()
            while self._to_settle:
                await self._pull(0)
            for batch in self._claimed:
                await self._owner.store.give_up(Verdict(batch.token, untried=batch.ids))
            self._claimed.clear()
        except DatabaseUnavailable as error:
            self._owner.health.degraded(error)
