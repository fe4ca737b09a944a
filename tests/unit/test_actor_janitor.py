"""Janitor: who leads, how much it does at once, and what it says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from psycopg.errors import QueryCanceled
from trio.testing import MockClock

from picloud.actors.janitor import Janitor, JanitorConfig, Swept
from picloud.db.janitor import BloatedTable, Pin
from picloud.errors import DatabaseUnavailable

ADVICE = "run 'vacuum queue_messages', and see whether autovacuum is on"
EFFECT = "queues slow down until it ends"


class House:
    """A database with work to do; `sessions` counts how often it was opened."""

    def __init__(self, **rows: int) -> None:
        self.rows = rows
        self.calls: list[tuple[str, int]] = []
        self.sessions = 0
        self.taken = False
        self.outages = 0
        self.broken = 0
        self.swept_at: list[float] = []
        self.bloated: list[BloatedTable] = []
        self.pins: list[Pin] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[House]:
        self.sessions += 1
        if self.outages:
            self.outages -= 1
            raise DatabaseUnavailable("away")
        yield self

    async def try_lead(self) -> bool:
        return not self.taken

    async def _batch(self, what: str, limit: int) -> int:
        self.calls.append((what, limit))
        count = min(limit, self.rows.get(what, 0))
        self.rows[what] = self.rows.get(what, 0) - count
        return count

    async def expire_messages(self, limit: int) -> int:
        self.swept_at.append(trio.current_time())
        return await self._batch("messages", limit)

    async def prune_dead_letters(self, limit: int) -> int:
        return await self._batch("dead", limit)

    async def prune_script_versions(self, limit: int) -> int:
        return await self._batch("versions", limit)

    async def prune_tokens(self, limit: int) -> int:
        if self.broken:
            self.broken -= 1
            raise QueryCanceled("canceling statement due to statement timeout")
        return await self._batch("tokens", limit)

    async def drop_partitions(self) -> list[str]:
        return ["executions_20261101"]

    async def list_bloated(self) -> list[BloatedTable]:
        return self.bloated

    async def list_pins(self) -> list[Pin]:
        if self.outages:
            self.outages -= 1
            raise DatabaseUnavailable("away")
        return self.pins


async def test_a_sweep_goes_in_batches_until_one_comes_back_short_and_says_what_it_did() -> None:
    house, expired = House(messages=25, dead=10, versions=3), []
    janitor = Janitor(house.open, JanitorConfig(batch_size=10), on_expired=lambda: expired.append(1))
    swept = await janitor.sweep(house)
    assert swept == Swept(25, 10, 3, 0, ("executions_20261101",))
    assert {limit for _, limit in house.calls} == {10}
    assert [what for what, _ in house.calls] == ["messages"] * 3 + ["dead"] * 2 + ["versions", "tokens"]
    assert expired == [1]
    await janitor.sweep(house)
    assert expired == [1]
    done = {"expired_messages": 25, "dead_letters": 10, "script_versions": 3, "tokens": 0, "partitions": 2}
    assert janitor.details().items() >= done.items()


async def test_the_leader_sweeps_at_every_interval_in_one_session(autojump_clock: MockClock) -> None:
    house = House()
    janitor = Janitor(house.open, JanitorConfig(interval=10.0))
    with trio.move_on_after(25):
        await janitor.run()
    assert [at - house.swept_at[0] for at in house.swept_at] == [0, 10, 20]
    assert house.sessions == 1
    assert not janitor.leads


async def test_who_does_not_lead_does_nothing_and_tries_again(autojump_clock: MockClock) -> None:
    house = House()
    house.taken = True
    janitor = Janitor(house.open, JanitorConfig(interval=10.0))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(janitor.run)
        await trio.sleep(25)
        assert (house.sessions, house.calls, janitor.leads) == (3, [], False)
        house.taken = False
        await trio.sleep(10)
        assert janitor.leads
        assert janitor.details()["leads"] is True
        assert len(house.swept_at) == 1
        nursery.cancel_scope.cancel()


async def test_an_outage_ends_the_leadership_and_is_waited_out(autojump_clock: MockClock) -> None:
    house = House()
    janitor = Janitor(house.open, JanitorConfig(interval=10.0))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(janitor.run)
        await trio.sleep(5)
        house.outages = 2
        await trio.sleep(5.01)
        assert not janitor.leads
        assert janitor.health.current.state == "degraded"
        await trio.sleep(5)
        assert janitor.leads
        assert janitor.health.current.state == "ok"
        nursery.cancel_scope.cancel()


async def test_a_statement_that_is_cut_short_is_shown_and_tried_at_the_next_sweep(autojump_clock: MockClock) -> None:
    house, said = House(), list[str]()
    janitor = Janitor(house.open, JanitorConfig(interval=10.0), warn=said.append)
    house.broken = 2
    async with trio.open_nursery() as nursery:
        nursery.start_soon(janitor.run)
        await trio.sleep(15)
        assert janitor.health.current.state == "degraded"
        assert janitor.leads
        assert said == ["a sweep failed: canceling statement due to statement timeout"]
        await trio.sleep(10)
        assert janitor.health.current.state == "ok"
        assert (janitor.sweeps, house.sessions) == (1, 1)
        nursery.cancel_scope.cancel()


async def test_a_warning_is_given_once_for_as_long_as_its_cause_lasts() -> None:
    house, said = House(), list[str]()
    janitor = Janitor(house.open, JanitorConfig(), warn=said.append)
    house.pins = [Pin("session", "4711", "a report", 400.0), Pin("replication slot", "s1", "pgoutput", None)]
    house.bloated = [BloatedTable("queue_messages", 10, 90_000)]
    await janitor.sweep(house)
    house.pins = [Pin("session", "4711", "a report", 460.0)]
    await janitor.sweep(house)
    assert said == [
        f"table queue_messages has 90000 dead rows and 10 live ones, and is not vacuumed: {ADVICE}",
        f"session 4711 (a report) has kept dead rows from being cleared for 400 s: {EFFECT}",
        f"replication slot s1 (pgoutput) has kept dead rows from being cleared for many transactions: {EFFECT}",
    ]
    house.pins = []
    await janitor.sweep(house)
    house.pins = [Pin("session", "4711", "a report", 400.0)]
    await janitor.sweep(house)
    assert len(said) == 4
    pin = {"kind": "session", "name": "4711", "application": "a report", "age_secs": 400.0}
    assert janitor.details()["pins"] == [pin]
