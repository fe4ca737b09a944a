"""Reclaim, roster, library, wake-ups and the execution log: each alone, on Trio's test clock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
import trio
from actor_probes import NOW, make_message, make_trigger, outcome
from hypothesis import given
from hypothesis import strategies as st
from psycopg.errors import QueryCanceled
from trio.testing import MockClock

from picloud.actors.batch_size import BatchSize
from picloud.actors.execution_log import ExecutionLog
from picloud.actors.library import Library
from picloud.actors.pulse import Pulse, PulseConfig
from picloud.actors.reclaim import Reclaim, ReclaimConfig
from picloud.actors.roster import Roster, RosterConfig
from picloud.actors.runtime import ChildSpec, DynamicSupervisor, WakeMailbox
from picloud.actors.settling import Batch, judge
from picloud.actors.wakes import QueueKey, QueueWakes
from picloud.actors.wakeup import Wakeup, WakeupConfig
from picloud.db.http_triggers import StoredRoute
from picloud.db.messages import DueQueue, ReclaimedQueue
from picloud.db.scripts import ScriptHead
from picloud.errors import DatabaseUnavailable, ScriptInvalid, ScriptNotFound
from picloud.types import AppId, ClaimToken, Fault, LogLine, QueueTrigger, Script, ScriptError, ScriptId

APP = AppId(uuid4())


# Reclaim.


async def test_reclaim_sweeps_at_once_and_at_every_interval(autojump_clock: MockClock) -> None:
    times = []

    async def reclaim(limit: int) -> list[ReclaimedQueue]:
        times.append(trio.current_time())
        return []

    with trio.move_on_after(25):
        await Reclaim(reclaim, ReclaimConfig(interval=10)).run()
    assert [time - times[0] for time in times] == [0, 10, 20]


async def test_reclaim_goes_on_until_a_batch_comes_back_short_and_wakes_what_it_released() -> None:
    batches = [[ReclaimedQueue(APP, "a", 3, 0)], [ReclaimedQueue(APP, "a", 0, 1), ReclaimedQueue(APP, "b", 1, 0)]]
    woken = []

    async def reclaim(limit: int) -> list[ReclaimedQueue]:
        return batches.pop(0)

    done = await Reclaim(
        reclaim, ReclaimConfig(batch_size=3), on_released=lambda queue: woken.append(queue.queue_name)
    ).sweep()
    assert (done.released, done.dead) == (4, 1)
    assert batches == []
    assert woken == ["a", "b"]


async def test_reclaim_waits_out_an_outage(autojump_clock: MockClock) -> None:
    async def reclaim(limit: int) -> list[ReclaimedQueue]:
        raise DatabaseUnavailable("away")

    actor = Reclaim(reclaim, ReclaimConfig(interval=1))
    with trio.move_on_after(5):
        await actor.run()
    assert actor.health.current.state == "degraded"


# Known failure 5: an outage during a recovery that is tried once loses it.
@pytest.mark.parametrize("trouble", [DatabaseUnavailable("away"), QueryCanceled("due to statement timeout")])
async def test_reclaim_that_failed_at_the_start_is_made_up_for(autojump_clock: MockClock, trouble: Exception) -> None:
    batches: list[Any] = [trouble, trouble, [ReclaimedQueue(APP, "a", 2, 0)], trouble, [ReclaimedQueue(APP, "a", 1, 0)]]
    woken: list[str] = []

    async def reclaim(limit: int) -> list[ReclaimedQueue]:
        batch = batches.pop(0) if batches else []
        if isinstance(batch, Exception):
            raise batch
        assert isinstance(batch, list)
        return batch

    actor = Reclaim(reclaim, ReclaimConfig(interval=1), on_released=lambda queue: woken.append(queue.queue_name))
    with trio.move_on_after(0.5):
        await actor.run()
    assert actor.health.current.state == "degraded"
    with trio.move_on_after(9):
        await actor.run()
    assert (actor.total_released, woken) == (3, ["a", "a"])
    assert actor.health.current.state == "ok"


# Roster.


class Consumers:
    """A roster with a real supervisor under it, and triggers that a test changes."""

    def __init__(self) -> None:
        self.triggers: list[QueueTrigger] = []
        self.running: list[str] = []
        self.started: list[str] = []
        self.broken: set[str] = set()
        self.changed = WakeMailbox()
        self.lists = 0
        self.patience = trio.Event()
        self.patience.set()
        self.roster = Roster(
            self._fingerprint,
            self._list,
            self._make,
            self.changed,
            RosterConfig(poll_interval=1.0, full_interval=30.0),
        )
        self.roster.consumers = DynamicSupervisor("consumers", children=[ChildSpec("roster", self.roster.run)])

    async def _fingerprint(self) -> str:
        return repr([replace(trigger, last_fired_at=None) for trigger in self.triggers])

    async def _list(self) -> list[QueueTrigger]:
        self.lists += 1
        return [t for t in self.triggers if t.enabled]

    async def _make(self, trigger: QueueTrigger) -> ChildSpec:
        if trigger.queue_name in self.broken:
            raise ScriptNotFound("the script is gone")
        stop = trio.Event()

        async def run(*, task_status: trio.TaskStatus[None]) -> None:
            name = f"{trigger.queue_name}:{trigger.script_version}"
            self.running.append(name)
            self.started.append(name)
            task_status.started()
            try:
                await stop.wait()
                await self.patience.wait()
            finally:
                self.running.remove(name)

        return ChildSpec(f"shop/{trigger.queue_name}", run, restart="transient", on_shutdown=stop.set)

    async def settle(self) -> None:
        self.changed.wake()
        await trio.sleep(1)


async def test_roster_starts_stops_and_restarts_exactly_what_changed(autojump_clock: MockClock) -> None:
    consumers = Consumers()
    one, two, three = [make_trigger(queue_name=name) for name in ("one", "two", "three")]
    consumers.triggers = [one, two]
    async with trio.open_nursery() as nursery:
        await nursery.start(consumers.roster.consumers.run)
        await consumers.settle()
        assert sorted(consumers.running) == ["one:1", "two:1"]
        consumers.triggers = [replace(one, script_version=2), two, three]
        await consumers.settle()
        assert sorted(consumers.running) == ["one:2", "three:1", "two:1"]
        consumers.triggers = [replace(one, script_version=2), replace(two, enabled=False)]
        await consumers.settle()
        assert consumers.running == ["one:2"]
        assert sorted(consumers.started) == ["one:1", "one:2", "three:1", "two:1"]
        consumers.roster.consumers.request_stop()
    assert consumers.running == []


async def test_roster_finds_by_itself_what_no_notification_told(autojump_clock: MockClock) -> None:
    consumers = Consumers()
    async with trio.open_nursery() as nursery:
        await nursery.start(consumers.roster.consumers.run)
        await consumers.settle()
        consumers.triggers = [make_trigger(queue_name="one")]
        await trio.sleep(1.1)
        assert consumers.running == ["one:1"]
        consumers.roster.consumers.request_stop()


async def test_roster_does_not_read_ten_thousand_triggers_every_second(autojump_clock: MockClock) -> None:
    consumers = Consumers()
    consumers.triggers = [make_trigger(queue_name="one")]
    async with trio.open_nursery() as nursery:
        await nursery.start(consumers.roster.consumers.run)
        await trio.sleep(100)
        # at the start, then every 30 s
        assert consumers.lists == 4
        consumers.roster.consumers.request_stop()


async def test_consumer_that_takes_long_to_end_keeps_no_other_waiting(autojump_clock: MockClock) -> None:
    consumers = Consumers()
    one = make_trigger(queue_name="one")
    consumers.triggers = [one]
    async with trio.open_nursery() as nursery:
        await nursery.start(consumers.roster.consumers.run)
        await consumers.settle()
        consumers.patience = trio.Event()
        consumers.triggers = [replace(one, script_version=2), make_trigger(queue_name="two")]
        await consumers.settle()
        assert sorted(consumers.running) == ["one:1", "two:1"]
        assert consumers.roster.details()["stopping"] == 1
        consumers.triggers = [replace(one, script_version=3), make_trigger(queue_name="three")]
        await consumers.settle()
        consumers.patience.set()
        await consumers.settle()
        assert sorted(consumers.running) == ["one:3", "three:1"]
        consumers.roster.consumers.request_stop()


async def test_consumer_that_ended_by_itself_is_started_again(autojump_clock: MockClock) -> None:
    consumers = Consumers()
    consumers.triggers = [make_trigger(queue_name="one")]
    async with trio.open_nursery() as nursery:
        await nursery.start(consumers.roster.consumers.run)
        await consumers.settle()
        await consumers.roster.consumers.terminate_child("shop/one")
        assert consumers.running == []
        await trio.sleep(1.1)
        assert consumers.running == ["one:1"]
        consumers.roster.consumers.request_stop()


async def test_roster_shows_a_trigger_that_cannot_start_and_starts_the_others(autojump_clock: MockClock) -> None:
    consumers = Consumers()
    consumers.triggers = [make_trigger(queue_name=name) for name in ("bad", "good")]
    consumers.broken = {"bad"}
    async with trio.open_nursery() as nursery:
        await nursery.start(consumers.roster.consumers.run)
        await consumers.settle()
        assert consumers.running == ["good:1"]
        assert consumers.roster.health.current.state == "degraded"
        assert "the script is gone" in (consumers.roster.health.current.error or "")
        consumers.broken = set()
        await trio.sleep(31)
        assert sorted(consumers.running) == ["bad:1", "good:1"]
        assert consumers.roster.health.current.state == "ok"
        consumers.roster.consumers.request_stop()


async def test_closed_roster_drains_all_consumers_and_starts_none(autojump_clock: MockClock) -> None:
    consumers = Consumers()
    consumers.triggers = [make_trigger(queue_name="one")]
    async with trio.open_nursery() as nursery:
        await nursery.start(consumers.roster.consumers.run)
        await consumers.settle()
        consumers.roster.close()
        await consumers.settle()
        assert consumers.running == []
        consumers.roster.consumers.request_stop()


# Library.


async def no_routes() -> list[StoredRoute]:
    return []


async def test_library_loads_what_changed_and_forgets_what_is_gone() -> None:
    scripts = {n: Script(ScriptId(uuid4()), APP, n, 1, f"# {n}", "", NOW) for n in ("a", "b")}
    loads: list[int] = []

    async def heads() -> list[ScriptHead]:
        return [ScriptHead(s.id, s.version) for s in scripts.values()]

    async def load(ids: Any) -> list[Script]:
        loads.append(len(ids))
        return [s for s in scripts.values() if s.id in ids]

    library = Library(heads, load, no_routes, WakeMailbox(), poll_interval=1.0)
    await library.refresh()
    scripts["a"] = replace(scripts["a"], version=2, source="# new")
    del scripts["b"]
    await library.refresh()
    await library.refresh()
    assert loads == [2, 1]
    found = library.find(APP, "a")
    assert found is not None
    assert found.source == "# new"
    assert library.find(APP, "b") is None
    assert library.find(AppId(uuid4()), "a") is None


async def test_library_tells_of_stored_scripts_that_break_the_policy(autojump_clock: MockClock) -> None:
    good, bad = [Script(ScriptId(uuid4()), APP, name, 1, "", "", NOW) for name in ("good", "bad")]

    async def heads() -> list[ScriptHead]:
        return [ScriptHead(good.id, 1), ScriptHead(bad.id, 1)]

    async def load(ids: Any) -> list[Script]:
        return [good, bad]

    def compile_script(name: str, source: str) -> None:
        if name == "bad":
            raise ScriptInvalid(name, [Fault(3, 1, "no longer allowed")])

    told: list[str] = []
    library = Library(heads, load, no_routes, WakeMailbox(), poll_interval=1.0)
    library.check_with(compile_script, lambda invalid: told.append(invalid.script))
    with trio.move_on_after(5):
        await library.run()
    assert told == ["bad"]
    assert library.details()["invalid"] == ["bad"]
    assert library.health.current.state == "ok"


# Wake-ups.


async def test_timer_wakes_its_queue_and_no_other(autojump_clock: MockClock) -> None:
    wakes = QueueWakes()
    key, other = QueueKey(APP, "a"), QueueKey(APP, "b")
    mailbox, other_mailbox = wakes.mailbox(key), wakes.mailbox(other)
    wakeup = make_wakeup(wakes)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wakeup._keep_time)
        await trio.sleep(0.5)
        wakes.wake_in(key, 30)
        assert await mailbox.wait(timeout=100)
        assert 30 <= trio.current_time() - began <= 31
        assert not await other_mailbox.wait(timeout=1)
        nursery.cancel_scope.cancel()


async def test_poll_wakes_due_queues_and_sets_timers_for_the_next(autojump_clock: MockClock) -> None:
    wakes = QueueWakes()
    now, soon, later = [wakes.mailbox(QueueKey(APP, name)) for name in ("now", "soon", "later")]
    due = [DueQueue(APP, "now", -1.0), DueQueue(APP, "soon", 1.5), DueQueue(APP, "later", 100.0)]
    await make_wakeup(wakes, due).poll()
    assert await now.wait(timeout=0)
    assert wakes.timers == 1
    await trio.sleep(2)
    assert wakes.fire_timers() is None
    assert await soon.wait(timeout=0)
    assert not await later.wait(timeout=0)


async def test_other_nodes_hear_of_each_queue_once_and_what_failed_is_told_again() -> None:
    wakes = QueueWakes()
    key = QueueKey(APP, "a")
    wakes.sent(key, 0.0)
    wakes.sent(key, 5.0)
    wakes.changed("scripts")
    queues, changes = wakes.take_outgoing()
    assert (queues, changes) == ({key}, {"scripts"})
    assert wakes.take_outgoing() == (set(), set())
    wakes.put_back(queues, changes)
    assert wakes.take_outgoing() == ({key}, {"scripts"})


async def test_notification_wakes_the_queue_it_names_and_foreign_ones_nobody() -> None:
    wakes = QueueWakes()
    mailbox = wakes.mailbox(QueueKey(APP, "a/b"))
    triggers = wakes.watch("triggers")
    wakeup = make_wakeup(wakes)
    for payload in (f"{wakeup.node_id}/{APP}/a/b", "nonsense", "x/not-a-uuid/a", ""):
        wakeup._heard("picloud_queue", payload)
    assert not await mailbox.wait(timeout=0)
    wakeup._heard("picloud_queue", f"{uuid4()}/{APP}/a/b")
    assert await mailbox.wait(timeout=0)
    wakeup._heard("picloud_changed", f"{uuid4()}/triggers")
    assert await triggers.wait(timeout=0)


def make_wakeup(wakes: QueueWakes, due: list[DueQueue] | None = None) -> Wakeup:
    async def connect() -> Any:
        raise DatabaseUnavailable("away")

    async def list_due() -> list[DueQueue]:
        return due or []

    return Wakeup(wakes, connect, list_due, WakeupConfig(), uuid4())


async def test_without_listening_the_poll_alone_finds_what_is_due(autojump_clock: MockClock) -> None:
    wakes = QueueWakes()
    mailbox = wakes.mailbox(QueueKey(APP, "a"))

    async def connect() -> Any:
        raise AssertionError("no connection is needed")

    async def list_due() -> list[DueQueue]:
        return [DueQueue(APP, "a", -1.0)]

    wakeup = Wakeup(wakes, connect, list_due, WakeupConfig(listens=False), uuid4())
    with trio.move_on_after(5):
        async with trio.open_nursery() as nursery:
            await nursery.start(wakeup.run)
            for _ in range(2):
                assert await mailbox.wait(timeout=3)
    assert wakeup.health.current.state == "ok"
    assert wakeup.details()["listening"] is False


# Deciding.


def test_each_message_gets_exactly_one_verdict() -> None:
    error = ScriptError("ValueError", "no")
    messages = [make_message(n) for n in range(3)] + [make_message(3, attempt=3)] + [make_message(n) for n in (4, 5)]
    outcomes = [
        outcome(messages[0]),
        outcome(messages[1], error=error),
        outcome(messages[2], error=error, cancelled=True),
        outcome(messages[3], error=error),
        outcome(messages[4], error=error, discarded_by="ann"),
    ]
    verdict = judge(Batch(ClaimToken(uuid4()), messages), outcomes, lambda message: 1.0)
    assert verdict.done == [messages[0].id]
    assert [i for i, _ in verdict.retry_ms] == [messages[1].id]
    assert verdict.untried == [messages[2].id]
    assert [i for i, _ in verdict.dead] == [messages[3].id]
    assert [(i, by) for i, _, by in verdict.discarded] == [(messages[4].id, "ann")]


@given(
    st.integers(1, 1000),
    st.lists(st.tuples(st.integers(0, 1000), st.floats(0, 10, allow_nan=False)), max_size=30),
)
def test_batch_size_stays_in_its_bounds_and_never_jumps(largest: int, runs: list[tuple[int, float]]) -> None:
    size = BatchSize(largest, slice_secs=0.05, visibility_timeout=30)
    for count, seconds in runs:
        before = size.current
        size.ran(count, seconds)
        assert 1 <= size.current <= largest
        assert size.current <= before * 4


def test_batch_never_outgrows_a_quarter_of_the_visibility_timeout() -> None:
    size = BatchSize(1000, slice_secs=10, visibility_timeout=2)
    for _ in range(10):
        size.ran(10, 1.0)
    assert size.current == 5


# What handlers say.


class Lines:
    """A logger that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, /, **fields: Any) -> None:
        self.lines.append((event, fields))

    warning = info


def test_flood_of_log_lines_is_cut_and_counted() -> None:
    now = 0.0
    lines = Lines()
    log = ExecutionLog(lines, lines_per_second=10, clock=lambda: now)
    message = make_message()
    log([outcome(message, logs=tuple(LogLine("info", f"line {n}") for n in range(50)))])
    assert len(lines.lines) == 10
    now = 1.0
    log([outcome(message, error=ScriptError("ValueError", "no", 7))])
    assert lines.lines[10] == ("log lines of handlers dropped", {"count": 40, "limit_per_second": 10})
    assert lines.lines[11] == (
        "handler failed",
        {"app": "shop", "script": "work", "error": "ValueError: no", "line": 7},
    )


@pytest.mark.parametrize("name", ["event", "level", "timestamp", "app", "exc_info"])
def test_field_names_of_authors_never_collide_with_the_loggers(name: str) -> None:
    lines = Lines()
    ExecutionLog(lines)([outcome(make_message(), logs=(LogLine("info", "text", {name: 1}),))])
    assert lines.lines[0][1][f"{name}_"] == 1


# Pulse.


class CountingGuard:
    def __init__(self) -> None:
        self.kicks: list[float] = []
        self.closed = False

    def kick(self) -> None:
        self.kicks.append(trio.current_time())

    def close(self) -> None:
        self.closed = True


async def test_pulse_kicks_its_guard_and_disarms_it_at_the_end(autojump_clock: MockClock) -> None:
    guard, began = CountingGuard(), trio.current_time()
    pulse = Pulse(guard, PulseConfig(interval=0.25))
    with trio.move_on_after(1.1):
        await pulse.run()
    assert [at - began for at in guard.kicks] == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])
    assert guard.closed


async def test_pulse_remembers_the_worst_delay_for_a_window() -> None:
    now = 0.0
    pulse = Pulse(None, PulseConfig(window=60.0), clock=lambda: now)
    pulse.beat(80.0)
    pulse.beat(2.0)
    assert pulse.details() == {"late_ms": 2.0, "worst_late_ms": 80.0}
    now = 61.0
    pulse.beat(3.0)
    assert pulse.details()["worst_late_ms"] == 80.0
    now = 122.0
    pulse.beat(1.0)
    assert pulse.details()["worst_late_ms"] == 3.0
