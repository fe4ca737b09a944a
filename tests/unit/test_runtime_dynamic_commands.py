"""Restart, terminate and stop of dynamic children, and which of them wins."""

from __future__ import annotations

import pytest
import trio
from runtime_probes import Boom, Cast, list_actor_tasks, running, sleep_before_started, sleep_shielded
from trio.testing import MockClock

from picloud.actors.runtime import (
    Backoff,
    ChildExists,
    ChildNotFound,
    ChildSpec,
    DynamicSupervisor,
    ShutdownTimeout,
    SupervisorNotRunning,
)

STEADY = Backoff(base=1.0, cap=8.0, jitter=0.0)
SLOW = Backoff(base=100.0, cap=100.0, jitter=0.0)


async def test_restart_by_hand_whose_start_fails_raises_and_backs_off(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = DynamicSupervisor("pool", backoff=STEADY)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        cast["a"].start_errors = [Boom("still broken")]
        with pytest.raises(Boom, match="still broken"):
            await supervisor.restart_child("a")
        assert supervisor.snapshot("/pool/a").status == "backing_off"
        await trio.sleep(1.1)
        assert supervisor.snapshot("/pool/a").status == "running"


async def test_restart_by_hand_stops_a_running_child_first_and_counts_nothing(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    cast["a"].cleanup = lambda: sleep_shielded(2)
    supervisor = DynamicSupervisor("pool", max_restarts=0)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        await supervisor.restart_child("a")
        assert cast.take_log() == "+a -a +a"
        assert supervisor.snapshot().to_json()["restarts_in_period"] == 0
        assert cast["a"].peak == 1


async def test_restart_by_hand_cuts_a_backoff_short(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = DynamicSupervisor("pool", backoff=Backoff(base=1000.0, cap=1000.0))
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        cast["a"].crash()
        await trio.sleep(1)
        await supervisor.restart_child("a")
        assert trio.current_time() == pytest.approx(1)
        assert cast["a"].alive == 1


async def test_two_restarts_by_hand_at_once_are_one(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = DynamicSupervisor("pool")
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.restart_child, "a")
            nursery.start_soon(supervisor.restart_child, "a")
        assert cast["a"].starts == 2


async def test_terminate_stops_and_forgets(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = DynamicSupervisor("pool", journal=cast.journal)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        await supervisor.terminate_child("a")
        assert cast.take_log() == "+a -a"
        assert "a" not in supervisor
        assert list_actor_tasks() == []
        with pytest.raises(ChildNotFound):
            await supervisor.terminate_child("a")


@pytest.mark.parametrize("max_restarts", [0, 3])
async def test_terminate_ends_a_child_that_rests(max_restarts: int, autojump_clock: MockClock) -> None:
    cast = Cast("a")
    backoff = Backoff(base=1000.0, cap=1000.0)
    supervisor = DynamicSupervisor("pool", backoff=backoff, max_restarts=max_restarts, cool_down=None)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        cast["a"].crash()
        await trio.sleep(1)
        assert supervisor.count_children() == (1, 0, 0, 1)
        await supervisor.terminate_child("a")
        assert trio.current_time() == pytest.approx(1)
        assert supervisor.children_ids() == []


async def test_terminate_tells_when_the_child_will_not_go_and_it_stays_in_sight(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    cast["a"].cleanup = lambda: sleep_shielded(60)
    supervisor = DynamicSupervisor("pool")
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        with pytest.raises(ShutdownTimeout):
            await supervisor.terminate_child("a")
        assert supervisor.snapshot("/pool/a").status == "stopping"
        with pytest.raises(ChildExists):
            await supervisor.start_child(cast.spec("a"))
        await trio.sleep(60)
        assert "a" not in supervisor


async def test_terminate_goes_on_when_its_caller_is_cancelled(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = DynamicSupervisor("pool")
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a", shutdown=10.0, on_shutdown=lambda: None))
        with trio.move_on_after(1):
            await supervisor.terminate_child("a")
        assert "a" in supervisor
        await trio.sleep(10)
        assert "a" not in supervisor


async def test_terminate_wins_over_a_restart_by_hand(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    cast["a"].cleanup = lambda: sleep_shielded(2)
    supervisor = DynamicSupervisor("pool")
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        async with trio.open_nursery() as nursery:

            async def restart() -> None:
                with pytest.raises(ChildNotFound):
                    await supervisor.restart_child("a")

            nursery.start_soon(restart)
            await trio.sleep(1)
            await supervisor.terminate_child("a")
        assert cast["a"].starts == 1


async def test_all_children_stop_at_the_same_time_each_with_its_own_time(autojump_clock: MockClock) -> None:
    cast = Cast("abcd")
    for seconds, name in enumerate("abc", start=2):
        cast[name].cleanup = lambda seconds=seconds: sleep_shielded(seconds)
    supervisor = DynamicSupervisor("pool", journal=cast.journal)
    async with running(supervisor):
        await supervisor.start_children(
            [cast.spec("a"), cast.spec("b", shutdown=1.0), cast.spec("c", shutdown=None), cast.spec("d")]
        )
    assert [cast[name].ended_at for name in "abcd"] == pytest.approx([2, 3, 4, 0])
    late = [report.child_id for report in cast.reports if isinstance(report.error, ShutdownTimeout)]
    assert late == ["b"]


async def test_stop_ends_children_in_every_state(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    supervisor = DynamicSupervisor("pool", backoff=SLOW, max_restarts=1, max_seconds=1000.0, cool_down=None)
    async with running(supervisor), trio.open_nursery() as nursery:
        await supervisor.start_children(cast.specs())
        supervisor.kill_child("a")
        await trio.sleep(101)
        supervisor.kill_child("a")
        supervisor.kill_child("b")
        await trio.sleep(1)

        async def start() -> None:
            with pytest.raises(SupervisorNotRunning):
                await supervisor.start_child(ChildSpec("d", sleep_before_started(1000)))

        nursery.start_soon(start)
        await trio.sleep(1)
        statuses = [node.status for node in supervisor.which_children()]
        assert statuses == ["parked", "backing_off", "running", "starting"]
        supervisor.request_stop()
    assert trio.current_time() == pytest.approx(103)
    assert supervisor.children_ids() == []


@pytest.mark.parametrize("way", ["request_stop", "cancel", "kill"])
async def test_stop_overtakes_a_restart_by_hand(way: str, autojump_clock: MockClock) -> None:
    cast = Cast("a")
    cast["a"].cleanup = lambda: sleep_shielded(2)
    supervisor = DynamicSupervisor("pool")
    async with running(supervisor) as outcome, trio.open_nursery() as nursery:
        await supervisor.start_child(cast.spec("a"))

        async def restart() -> None:
            with pytest.raises(ChildNotFound):
                await supervisor.restart_child("a")

        nursery.start_soon(restart)
        await trio.sleep(1)
        getattr(outcome.scope if way == "cancel" else supervisor, way)()
    assert cast["a"].starts == 1
