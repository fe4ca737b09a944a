"""The cron actor: it sleeps until something is due, fires all that is, and looks again."""

from __future__ import annotations

from collections.abc import Collection
from uuid import uuid4

import trio
from trio.testing import MockClock

from picloud.actors.cron import Cron, CronConfig, CronRound
from picloud.actors.runtime import WakeMailbox
from picloud.db.cron_fires import Fired
from picloud.errors import DatabaseUnavailable
from picloud.types import TriggerId


class Schedules:
    """A CronStore: triggers by when they are due, each once."""

    def __init__(self, *due_at: float) -> None:
        self.due_at = sorted(due_at)
        self.looks: list[float] = []
        self.fires: list[float] = []
        self.outage_until = 0.0
        self.broken: dict[TriggerId, str] = {}
        self.held_by_others = False
        self.old = 0
        self.pruned: list[float] = []

    async def fire(self, limit: int, except_ids: Collection[TriggerId]) -> Fired:
        await trio.lowlevel.checkpoint()
        self.fires.append(trio.current_time())
        broken = {trigger_id: why for trigger_id, why in self.broken.items() if trigger_id not in except_ids}
        due = [] if self.held_by_others else [at for at in self.due_at if at <= trio.current_time()][:limit]
        self.due_at = self.due_at[len(due) :]
        latest = max((trio.current_time() - at for at in due), default=0.0)
        return Fired(len(due) + len(broken), len(due), deliveries=len(due), broken=broken, latest=latest)

    async def next_due(self, except_ids: Collection[TriggerId]) -> float | None:
        await trio.lowlevel.checkpoint()
        if trio.current_time() < self.outage_until:
            raise DatabaseUnavailable("the database is away")
        self.looks.append(trio.current_time())
        if set(self.broken) - set(except_ids):
            return -1.0
        return self.due_at[0] - trio.current_time() if self.due_at else None

    async def prune(self, older_than: float, limit: int) -> int:
        await trio.lowlevel.checkpoint()
        batch, self.old = min(self.old, limit), max(0, self.old - limit)
        self.pruned.append(trio.current_time())
        return batch


def make_cron(store: Schedules, told: list[Fired] | None = None, wake: WakeMailbox | None = None) -> Cron:
    note = (lambda fired: None) if told is None else told.append
    return Cron(store, wake or WakeMailbox(), CronConfig(poll_interval=10.0, batch_size=3), on_fired=note)


async def run_for(cron: Cron, seconds: float) -> None:
    with trio.move_on_after(seconds):
        await cron.run()


async def test_it_looks_when_something_is_due_and_at_the_poll_interval(autojump_clock: MockClock) -> None:
    store = Schedules(4.0, 25.0)
    cron = make_cron(store)
    await run_for(cron, 40)
    # once more after it fired: what is next
    assert store.looks == [0, 4, 4, 14, 24, 25, 25, 35]
    assert store.fires == [4, 25]
    assert (cron.fired, cron.last) == (2, CronRound(1, 1, 0, 0.0))


async def test_all_that_is_due_at_once_is_fired_in_batches_and_told_once_it_is_committed(
    autojump_clock: MockClock,
) -> None:
    store, told = Schedules(*[2.0] * 8), []
    cron = make_cron(store, told)
    await run_for(cron, 5)
    assert [fired.fires for fired in told] == [3, 3, 2]
    assert store.fires == [2, 2, 2]
    assert cron.last.fires == 8
    assert cron.details()["last_fires"] == 8


async def test_a_change_of_triggers_is_looked_at_at_once(autojump_clock: MockClock) -> None:
    store, wake = Schedules(), WakeMailbox()
    async with trio.open_nursery() as nursery:
        await nursery.start(make_cron(store, wake=wake).run)
        await trio.sleep(3)
        store.due_at = [5.0]
        wake.wake()
        await trio.sleep(6)
        nursery.cancel_scope.cancel()
    assert (store.looks, store.fires) == ([0, 3, 5, 5], [5])


async def test_outage_is_waited_out_shown_and_what_was_due_in_it_is_fired(autojump_clock: MockClock) -> None:
    store = Schedules(3.0)
    cron = make_cron(store)
    store.outage_until = 30.0
    async with trio.open_nursery() as nursery:
        await nursery.start(cron.run)
        await trio.sleep(29)
        assert cron.health.current.state == "degraded"
        await trio.sleep(12)
        nursery.cancel_scope.cancel()
    assert cron.health.current.state == "ok"
    assert cron.fired == 1
    assert 27_000 <= cron.last.latest_ms <= 38_000


async def test_what_another_node_holds_is_left_to_it_without_a_busy_loop(autojump_clock: MockClock) -> None:
    store = Schedules(1.0)
    store.held_by_others = True
    await run_for(make_cron(store), 3)
    assert 10 <= len(store.fires) <= 25


async def test_trigger_that_cannot_be_read_is_shown_left_out_and_tried_again(autojump_clock: MockClock) -> None:
    store, broken = Schedules(5.0), TriggerId(uuid4())
    store.broken[broken] = "timezone: no time zone 'Mars/Base'"
    cron = make_cron(store)
    async with trio.open_nursery() as nursery:
        await nursery.start(cron.run)
        await trio.sleep(6)
        assert cron.fired == 1
        assert cron.health.current.state == "degraded"
        assert str(broken) in (cron.health.current.error or "")
        store.broken.clear()
        await trio.sleep(70)
        assert cron.health.current.state == "ok"
        nursery.cancel_scope.cancel()


async def test_old_records_are_dropped_in_batches_now_and_then(autojump_clock: MockClock) -> None:
    store = Schedules()
    store.old = 25_000
    await run_for(make_cron(store), 3605)
    assert store.pruned == [0, 0, 0, 3600]
