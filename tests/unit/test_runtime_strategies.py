"""Strategy × restart type × way to end, as OTP's supervisor documents them."""

from __future__ import annotations

import pytest
import trio
from runtime_probes import Boom, Cast, list_actor_tasks, running
from trio.testing import wait_all_tasks_blocked

from picloud.actors.runtime import Backoff, ChildSpec, RestartIntensityExceeded, Supervisor

STRATEGIES = ["one_for_one", "one_for_all", "rest_for_one"]
RESTARTS = ["permanent", "transient", "temporary"]
ENDS = ["normal", "crash", "group", "killed"]

RESTARTED_WITH_B = {
    "one_for_one": "-b +b",
    "one_for_all": "-b -c -a +a +b +c",
    "rest_for_one": "-b -c +b +c",
}


def end(cast: Cast, supervisor: Supervisor, way: str) -> None:
    """End child b."""
    if way == "normal":
        cast["b"].finish()
    elif way == "crash":
        cast["b"].crash()
    elif way == "group":
        cast["b"].crash(ExceptionGroup("several", [Boom("one"), ExceptionGroup("more", [KeyError("two")])]))
    else:
        supervisor.kill_child("b")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("restart", RESTARTS)
@pytest.mark.parametrize("way", ENDS)
async def test_child_that_ends_is_restarted_by_type_and_with_its_group(
    strategy: str, restart: str, way: str, autojump_clock: trio.testing.MockClock
) -> None:
    cast = Cast("abc")
    supervisor = Supervisor("root", cast.specs(b=restart), strategy=strategy, journal=cast.journal)
    async with running(supervisor):
        assert cast.take_log() == "+a +b +c"
        end(cast, supervisor, way)
        await wait_all_tasks_blocked()
        is_restarted = restart == "permanent" or (restart == "transient" and way != "normal")
        assert cast.take_log() == (RESTARTED_WITH_B[strategy] if is_restarted else "-b")
        assert [node.id for node in supervisor.which_children()] == (
            ["a", "c"] if restart == "temporary" else ["a", "b", "c"]
        )
        assert supervisor.count_children().active == (3 if is_restarted else 2)
    assert all(probe.peak == 1 for probe in cast.probes.values())
    first = cast.reports[0]
    assert (first.supervisor, first.context, first.child_id, first.restart, first.incarnation) == (
        "/root", "child_terminated", "b", restart, 1,
    )  # fmt: skip


@pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
async def test_temporary_sibling_is_stopped_with_the_group_and_never_restarted(
    strategy: str, autojump_clock: trio.testing.MockClock
) -> None:
    cast = Cast("abc")
    async with running(Supervisor("root", cast.specs(c="temporary"), strategy=strategy)) as outcome:
        cast.take_log()
        cast["a"].crash()
        await wait_all_tasks_blocked()
        assert cast.take_log() == "-a -c -b +a +b"
        assert not outcome.ended.is_set()


@pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
async def test_transient_sibling_that_ended_normally_is_started_with_its_group(
    strategy: str, autojump_clock: trio.testing.MockClock
) -> None:
    cast = Cast("ab")
    async with running(Supervisor("root", cast.specs(b="transient"), strategy=strategy)):
        cast["b"].finish()
        await wait_all_tasks_blocked()
        cast.take_log()
        cast["a"].crash()
        await wait_all_tasks_blocked()
        assert cast.take_log() == "-a +a +b"


async def test_children_left_of_the_one_that_ends_are_untouched_under_rest_for_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    cast = Cast("abc")
    async with running(Supervisor("root", cast.specs(), strategy="rest_for_one")):
        cast.take_log()
        cast["c"].crash()
        await wait_all_tasks_blocked()
        assert cast.take_log() == "-c +c"


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_children_that_crash_at_once_are_all_running_again(
    strategy: str, autojump_clock: trio.testing.MockClock
) -> None:
    cast = Cast("abc")
    supervisor = Supervisor("root", cast.specs(), strategy=strategy)
    async with running(supervisor) as outcome:
        for probe in cast.probes.values():
            probe.crash()
        await wait_all_tasks_blocked()
        restarts = supervisor.snapshot().to_json()["restarts_in_period"]
        # the ends of those that the group's restart takes along are no restarts of their own
        assert restarts == 1 if strategy == "one_for_all" else 1 <= restarts <= 3
        assert not outcome.ended.is_set()
        assert [probe.alive for probe in cast.probes.values()] == [1, 1, 1]
    assert all(probe.peak == 1 for probe in cast.probes.values())


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_failed_start_in_a_restart_is_tried_again_and_counts(
    strategy: str, autojump_clock: trio.testing.MockClock
) -> None:
    cast = Cast("abc")
    supervisor = Supervisor("root", cast.specs(), strategy=strategy, max_restarts=3)
    async with running(supervisor) as outcome:
        cast["b"].start_errors = [Boom("1"), Boom("2")]
        cast["b"].crash()
        await wait_all_tasks_blocked()
        assert not outcome.ended.is_set()
        assert [probe.alive for probe in cast.probes.values()] == [1, 1, 1]
        assert supervisor.snapshot().to_json()["restarts_in_period"] == 3
        assert supervisor.snapshot("/root/b").incarnation == 4


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("restart", ["permanent", "transient"])
async def test_failed_starts_past_the_limit_end_the_supervisor(
    strategy: str, restart: str, autojump_clock: trio.testing.MockClock
) -> None:
    cast = Cast("abc")
    async with running(Supervisor("root", cast.specs(b=restart), strategy=strategy, max_restarts=3)) as outcome:
        cast["b"].start_errors = [Boom(str(n)) for n in range(1, 9)]
        cast["b"].crash()
        await outcome.ended.wait()
        assert list_actor_tasks() == []
    assert isinstance(outcome.error, RestartIntensityExceeded)
    assert outcome.error.child_id == "b"
    assert str(outcome.error.__cause__) == str(outcome.error.last_error) == "3"


async def test_start_that_fails_in_another_child_of_the_group_is_the_end_of_that_child(
    autojump_clock: trio.testing.MockClock,
) -> None:
    cast = Cast("abc")
    async with running(Supervisor("root", cast.specs(), strategy="rest_for_one")):
        cast.take_log()
        cast["c"].start_errors = [Boom("c")]
        cast["a"].crash()
        await wait_all_tasks_blocked()
        # a and b stay: the second round is for c alone
        assert cast.take_log() == "-a -c -b +a +b -c +c"


async def test_child_that_crashes_while_a_later_one_starts_is_restarted(
    autojump_clock: trio.testing.MockClock,
) -> None:
    cast = Cast("ab")
    may_start = trio.Event()

    async def start_slowly(*, task_status: trio.TaskStatus[None]) -> None:
        await may_start.wait()
        await cast["b"].run(task_status=task_status)

    async with running(Supervisor("root", [cast.spec("a"), ChildSpec("b", start_slowly)])) as outcome:
        cast["a"].crash()
        await wait_all_tasks_blocked()
        assert cast["a"].starts == 1
        may_start.set()
        await wait_all_tasks_blocked()
        assert cast.take_log() == "+a -a +b +a"
        assert not outcome.ended.is_set()


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_group_is_down_while_it_backs_off(strategy: str, autojump_clock: trio.testing.MockClock) -> None:
    cast = Cast("abc")
    backoff = Backoff(base=2.0, cap=60.0, jitter=0.0)
    supervisor = Supervisor("root", cast.specs(), strategy=strategy, backoff=backoff, max_seconds=100.0)
    async with running(supervisor):
        cast.take_log()
        began = trio.current_time()
        cast["b"].crash()
        await trio.sleep(1.9)
        assert "+" not in cast.take_log()
        assert supervisor.snapshot("/root/b").status == "backing_off"
        await trio.sleep(0.2)
        assert cast.take_log() == RESTARTED_WITH_B[strategy].split(" ", RESTARTED_WITH_B[strategy].count("-"))[-1]
        cast["b"].crash()
        await trio.sleep(3.8)
        assert cast["b"].alive == 0
        await trio.sleep(0.4)
        assert cast["b"].alive == 1
        assert trio.current_time() - began < 7


async def test_restart_by_hand_cuts_a_backoff_short(autojump_clock: trio.testing.MockClock) -> None:
    cast = Cast("ab")
    supervisor = Supervisor("root", cast.specs(), strategy="one_for_all", backoff=Backoff(10.0, 10.0, 0.0))
    async with running(supervisor) as outcome:
        cast["a"].crash()
        await trio.sleep(1)
        await supervisor.restart_child("a")
        assert (cast["a"].starts, cast["b"].starts) == (2, 1)
        await trio.sleep(10)
        assert (cast["a"].starts, cast["b"].starts) == (2, 2)
        assert not outcome.ended.is_set()


async def test_terminate_ends_a_backoff_of_that_child_alone(autojump_clock: trio.testing.MockClock) -> None:
    cast = Cast("ab")
    supervisor = Supervisor("root", cast.specs(), strategy="one_for_all", backoff=Backoff(10.0, 10.0, 0.0))
    async with running(supervisor):
        cast["a"].crash()
        await trio.sleep(1)
        await supervisor.terminate_child("a")
        await trio.sleep(10)
        assert supervisor.snapshot("/root/a").status == "stopped"
        assert (cast["a"].starts, cast["b"].starts) == (1, 2)


async def test_crash_of_an_earlier_child_takes_over_a_group_that_backs_off(
    autojump_clock: trio.testing.MockClock,
) -> None:
    cast = Cast("abc")
    backoff = Backoff(base=2.0, cap=2.0, jitter=0.0)
    async with running(Supervisor("root", cast.specs(), strategy="rest_for_one", backoff=backoff)):
        cast["b"].crash()
        await trio.sleep(1.0)
        cast.take_log()
        cast["a"].crash()
        await trio.sleep(1.5)
        # b and c were due, but a comes first
        assert cast.take_log() == "-a"
        await trio.sleep(1.0)
        assert cast.take_log() == "+a +b +c"
