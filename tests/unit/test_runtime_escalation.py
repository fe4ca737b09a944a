"""Restart intensity, nested supervisors and auto shutdown."""

from __future__ import annotations

import pytest
import trio
from runtime_probes import Boom, Cast, running
from trio.testing import MockClock, wait_all_tasks_blocked

from picloud.actors.runtime import (
    RestartIntensityExceeded,
    Supervisor,
)

# Restart intensity


async def test_restarts_are_counted_over_all_children(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    async with running(Supervisor("root", cast.specs(), max_restarts=2, journal=cast.journal)) as outcome:
        for name in "ab":
            cast[name].crash()
            await wait_all_tasks_blocked()
            assert not outcome.ended.is_set()
        cast.take_log()
        cast["c"].crash()
        await outcome.ended.wait()
    assert cast.take_log() == "-c -b -a"
    assert isinstance(outcome.error, RestartIntensityExceeded)
    assert str(outcome.error) == "/root/c failed more than 2 times in 5 s, last by Boom: c went off"


async def test_restarts_older_than_the_period_are_forgiven(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = Supervisor("root", cast.specs(), max_restarts=1, max_seconds=5.0)
    async with running(supervisor) as outcome:
        for _ in range(10):
            cast["a"].crash()
            await trio.sleep(5.1)
        assert not outcome.ended.is_set()
        assert supervisor.snapshot("/root/a").restart_count == 10
        cast["a"].crash()
        await trio.sleep(4.9)
        cast["a"].crash()
        await outcome.ended.wait()
    assert isinstance(outcome.error, RestartIntensityExceeded)


async def test_no_restarts_allowed_means_the_first_crash_ends_the_supervisor(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    async with running(Supervisor("root", cast.specs(), max_restarts=0)) as outcome:
        cast["a"].crash()
        await outcome.ended.wait()
    assert isinstance(outcome.error, RestartIntensityExceeded)


async def test_permanent_child_that_returns_too_often_counts_without_an_error(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    async with running(Supervisor("root", cast.specs(), max_restarts=1)) as outcome:
        cast["a"].finish()
        await wait_all_tasks_blocked()
        cast["a"].finish()
        await outcome.ended.wait()
    assert isinstance(outcome.error, RestartIntensityExceeded)
    assert outcome.error.last_error is None
    assert "it returned" in str(outcome.error)


async def test_supervisor_can_run_again_with_a_clean_slate(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    supervisor = Supervisor("root", cast.specs(b="temporary"), max_restarts=0)
    for round_number in (1, 2):
        async with running(supervisor) as outcome:
            cast["b"].finish()
            await wait_all_tasks_blocked()
            assert supervisor.count_children().specs == 1
            cast["a"].crash()
            await outcome.ended.wait()
        assert isinstance(outcome.error, RestartIntensityExceeded)
        assert supervisor.snapshot("/root/a").incarnation == round_number


# Nesting


async def test_supervisor_past_its_limit_is_restarted_by_its_parent(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    inner = Supervisor("inner", [cast.spec("b"), cast.spec("c")], max_restarts=0)
    root = Supervisor("root", [cast.spec("a"), inner.as_child()], journal=cast.journal)
    async with running(root) as outcome:
        cast.take_log()
        cast["b"].crash()
        await wait_all_tasks_blocked()
        assert cast.take_log() == "-b -c +b +c"
        assert not outcome.ended.is_set()
        node = root.snapshot("/root/inner")
        assert (node.incarnation, node.restart_count, node.status) == (2, 1, "running")
        assert node.last_exit is not None
        assert node.last_exit.error_type == "RestartIntensityExceeded"


@pytest.mark.parametrize(("restart", "escalates"), [("permanent", True), ("transient", True), ("temporary", False)])
async def test_failures_escalate_to_the_root_which_names_the_deepest_child(
    restart: str, escalates: bool, autojump_clock: MockClock
) -> None:
    cast = Cast("ab")
    inner = Supervisor("inner", [cast.spec("b")], max_restarts=0)
    middle = Supervisor("middle", [inner.as_child(restart=restart)], max_restarts=0)
    root = Supervisor("root", [cast.spec("a"), middle.as_child()], max_restarts=0)
    async with running(root) as outcome:
        cast["b"].crash()
        await wait_all_tasks_blocked()
        assert outcome.ended.is_set() is escalates
    if escalates:
        error = outcome.error
        assert isinstance(error, RestartIntensityExceeded)
        assert (error.path, error.child_id) == ("/root", "middle")
        assert str(error) == "/root/middle/inner/b failed more than 0 times in 5 s, last by Boom: b went off"


async def test_nested_supervisors_stop_depth_first_in_reverse(autojump_clock: MockClock) -> None:
    cast = Cast("abcd")
    inner = Supervisor("inner", [cast.spec("b"), cast.spec("c")])
    root = Supervisor("root", [cast.spec("a"), inner.as_child(), cast.spec("d")])
    async with running(root):
        cast.take_log()
    assert cast.take_log() == "-d -c -b -a"


async def test_failed_first_start_deep_below_is_raised_by_the_root(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    cast["c"].start_errors = [Boom("deep")]
    inner = Supervisor("inner", [cast.spec("b"), cast.spec("c")])
    with pytest.raises(Boom, match="deep") as caught:
        await Supervisor("root", [cast.spec("a"), inner.as_child()]).run()
    assert caught.value.__notes__ == ["/root/inner/c failed to start"]
    assert cast.take_log().endswith("-b -a")


async def test_supervisor_past_its_shutdown_time_has_everything_below_cancelled(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    inner = Supervisor("inner", [cast.spec(name, shutdown=100.0, on_shutdown=lambda: None) for name in "ab"])
    async with running(Supervisor("root", [inner.as_child(shutdown=3.0)])):
        began = trio.current_time()
    assert trio.current_time() - began == pytest.approx(3)


async def test_kill_ends_a_whole_tree_now_after_a_stop_was_requested(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    inner = Supervisor("inner", [cast.spec(name, shutdown=100.0, on_shutdown=lambda: None) for name in "ab"])
    root = Supervisor("root", [inner.as_child(), cast.spec("c", shutdown=100.0, on_shutdown=lambda: None)])
    async with running(root) as outcome:
        root.request_stop()
        await trio.sleep(1)
        assert root.snapshot().status == "stopping"
        assert not outcome.ended.is_set()
        root.kill()
        await outcome.ended.wait()
        assert trio.current_time() == pytest.approx(1)
    assert outcome.error is None


# Auto shutdown


@pytest.mark.parametrize("restart", ["transient", "temporary"])
async def test_any_significant_child_that_ends_for_good_ends_the_supervisor(
    restart: str, autojump_clock: MockClock
) -> None:
    cast = Cast("abc")
    specs = [cast.spec("a"), cast.spec("b", restart=restart, significant=True), cast.spec("c", restart="transient")]
    async with running(Supervisor("root", specs, auto_shutdown="any_significant")) as outcome:
        cast["c"].finish()
        await wait_all_tasks_blocked()
        assert not outcome.ended.is_set()
        cast.take_log()
        cast["b"].finish()
        await outcome.ended.wait()
    assert outcome.error is None
    assert cast.take_log() == "-b -a"


async def test_crash_of_a_significant_transient_child_is_a_restart(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    specs = [cast.spec("a", restart="transient", significant=True)]
    async with running(Supervisor("root", specs, auto_shutdown="any_significant")) as outcome:
        cast["a"].crash()
        await wait_all_tasks_blocked()
        assert not outcome.ended.is_set()
        assert cast["a"].starts == 2


async def test_crash_of_a_significant_temporary_child_ends_the_supervisor(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    specs = [cast.spec("a", restart="temporary", significant=True)]
    async with running(Supervisor("root", specs, auto_shutdown="any_significant")) as outcome:
        cast["a"].crash()
        await outcome.ended.wait()
    assert outcome.error is None


async def test_all_significant_children_must_end_before_the_supervisor_does(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    specs = [cast.spec("a"), *(cast.spec(name, restart="transient", significant=True) for name in "bc")]
    async with running(Supervisor("root", specs, auto_shutdown="all_significant")) as outcome:
        cast["b"].finish()
        await wait_all_tasks_blocked()
        assert not outcome.ended.is_set()
        cast["c"].finish()
        await outcome.ended.wait()
    assert outcome.error is None
    assert cast["a"].alive == 0


@pytest.mark.parametrize("auto_shutdown", ["any_significant", "all_significant"])
async def test_significant_child_stopped_by_hand_does_not_end_the_supervisor(
    auto_shutdown: str, autojump_clock: MockClock
) -> None:
    cast = Cast("ab")
    specs = [cast.spec("a"), cast.spec("b", restart="transient", significant=True)]
    supervisor = Supervisor("root", specs, auto_shutdown=auto_shutdown)
    async with running(supervisor) as outcome:
        await supervisor.terminate_child("b")
        await wait_all_tasks_blocked()
        assert not outcome.ended.is_set()


async def test_transient_supervisor_that_shut_itself_down_is_not_restarted(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    inner = Supervisor(
        "inner", [cast.spec("a", restart="transient", significant=True)], auto_shutdown="any_significant"
    )
    root = Supervisor("root", [inner.as_child(restart="transient")])
    async with running(root):
        cast["a"].finish()
        await wait_all_tasks_blocked()
        assert root.snapshot("/root/inner").status == "stopped"
        assert root.snapshot("/root/inner").incarnation == 1
