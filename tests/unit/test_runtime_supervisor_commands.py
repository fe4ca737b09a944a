"""Commands to the static supervisor."""

from __future__ import annotations

import pytest
import trio
from runtime_probes import Boom, Cast, Outcome, run_to_outcome, running, sleep_shielded
from trio.testing import MockClock, wait_all_tasks_blocked

from picloud.actors.runtime import (
    ChildNotFound,
    Killed,
    ShutdownTimeout,
    Supervisor,
    SupervisorNotRunning,
)


async def test_terminated_child_stays_stopped_until_it_is_restarted_by_hand(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    supervisor = Supervisor("root", cast.specs())
    async with running(supervisor):
        cast.take_log()
        await supervisor.terminate_child("a")
        assert supervisor.snapshot("/root/a").status == "stopped"
        await supervisor.restart_child("a")
        assert cast.take_log() == "-a +a"
        assert supervisor.snapshot().to_json()["restarts_in_period"] == 0


async def test_terminated_child_is_started_with_its_group(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    supervisor = Supervisor("root", cast.specs(), strategy="one_for_all")
    async with running(supervisor):
        await supervisor.terminate_child("b")
        cast.take_log()
        cast["a"].crash()
        await wait_all_tasks_blocked()
        assert cast.take_log() == "-a +a +b"


async def test_terminated_temporary_child_is_forgotten(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    supervisor = Supervisor("root", cast.specs(a="temporary"))
    async with running(supervisor):
        await supervisor.terminate_child("a")
        with pytest.raises(ChildNotFound):
            await supervisor.restart_child("a")


@pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
async def test_restart_by_hand_touches_that_child_alone(strategy: str, autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    supervisor = Supervisor("root", cast.specs(), strategy=strategy, max_restarts=0)
    async with running(supervisor) as outcome:
        cast.take_log()
        await supervisor.restart("/root/b")
        assert cast.take_log() == "-b +b"
        assert not outcome.ended.is_set()


async def test_restart_by_hand_whose_start_fails_raises_and_is_handled_like_a_crash(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    supervisor = Supervisor("root", cast.specs())
    async with running(supervisor):
        cast["a"].start_errors = [Boom("again")]
        with pytest.raises(Boom, match="again"):
            await supervisor.restart_child("a")
        await wait_all_tasks_blocked()
        assert cast["a"].alive == 1
        assert supervisor.snapshot().to_json()["restarts_in_period"] == 1


async def test_terminate_tells_when_the_child_will_not_go(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    cast["a"].cleanup = lambda: sleep_shielded(60)
    supervisor = Supervisor("root", cast.specs())
    async with running(supervisor):
        with pytest.raises(ShutdownTimeout, match=r"/root/a has not ended 6\.0 s"):
            await supervisor.terminate_child("a")
        assert supervisor.snapshot("/root/a").status == "stopping"
        await trio.sleep(60)
        assert supervisor.snapshot("/root/a").status == "stopped"


async def test_command_to_a_supervisor_that_does_not_run_is_refused(autojump_clock: MockClock) -> None:
    supervisor = Supervisor("root", Cast("a").specs())
    with pytest.raises(SupervisorNotRunning):
        await supervisor.restart_child("a")


async def test_command_that_a_stop_overtakes_is_refused(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    cast["a"].cleanup = lambda: sleep_shielded(3)
    supervisor = Supervisor("root", cast.specs())
    async with running(supervisor), trio.open_nursery() as nursery:
        outcome = Outcome()

        async def restart(*, task_status: trio.TaskStatus[None]) -> None:
            await supervisor.restart_child("a")

        class Caller:
            run = staticmethod(restart)

        nursery.start_soon(run_to_outcome, Caller, outcome)
        await trio.sleep(1)
        supervisor.request_stop()
        await outcome.ended.wait()
        assert isinstance(outcome.error, SupervisorNotRunning)


async def test_killed_child_counts_as_crashed(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = Supervisor("root", cast.specs(a="transient"), journal=cast.journal)
    async with running(supervisor):
        supervisor.kill_child("a")
        await wait_all_tasks_blocked()
        assert isinstance(cast.reports[0].error, Killed)
        assert cast["a"].starts == 2
