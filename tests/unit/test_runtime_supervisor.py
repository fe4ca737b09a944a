"""Start, stop, restart intensity, escalation, auto shutdown and commands of the static supervisor."""

from __future__ import annotations

import pytest
import trio
from runtime_probes import Boom, Cast, Outcome, list_actor_tasks, run_to_outcome, running, sleep_shielded
from trio.testing import MockClock, wait_all_tasks_blocked

from picloud.actors.runtime import (
    ChildNotFound,
    ChildSpec,
    InvalidSpec,
    Killed,
    NeverStarted,
    RestartIntensityExceeded,
    ShutdownTimeout,
    Supervisor,
    SupervisorNotRunning,
)

# Start


async def test_each_child_starts_after_the_one_before_says_that_it_started(autojump_clock: MockClock) -> None:
    times = []

    def make(seconds: float) -> object:
        async def start(*, task_status: trio.TaskStatus[None]) -> None:
            await trio.sleep(seconds)
            task_status.started()
            times.append(trio.current_time())
            await trio.sleep_forever()

        return start

    began = trio.current_time()
    supervisor = Supervisor("root", [ChildSpec(str(n), make(n)) for n in (1, 2, 3)])
    async with trio.open_nursery() as nursery:
        await nursery.start(supervisor.run)
        assert [round(at - began) for at in times] == [1, 3, 6]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(("failing", "log"), [("a", ""), ("b", "+a -a"), ("c", "+a +b -b -a")])
async def test_failed_first_start_stops_the_others_in_reverse_and_is_raised_itself(
    failing: str, log: str, autojump_clock: MockClock
) -> None:
    cast = Cast("abc")
    error = Boom("no port")
    cast[failing].start_errors = [error]
    with pytest.raises(Boom) as caught:
        await Supervisor("root", cast.specs(), journal=cast.journal).run()
    assert caught.value is error
    assert caught.value.__notes__ == [f"/root/{failing} failed to start"]
    assert " ".join(entry for entry in cast.log if entry[1] != failing) == log
    assert cast.reports[0].context == "start_error"
    assert list_actor_tasks() == []


async def test_child_that_returns_without_started_has_failed_to_start(autojump_clock: MockClock) -> None:
    async def forget(*, task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep(1)

    with pytest.raises(NeverStarted, match="/root/a returned"):
        await Supervisor("root", [ChildSpec("a", forget)]).run()


async def test_started_twice_is_a_crash(autojump_clock: MockClock) -> None:
    async def repeat(*, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        task_status.started()

    cast = Cast("")
    supervisor = Supervisor("root", [ChildSpec("a", repeat, "temporary")], journal=cast.journal)
    async with running(supervisor):
        assert isinstance(cast.reports[0].error, RuntimeError)


async def test_stop_requested_while_a_child_starts_interrupts_the_start(autojump_clock: MockClock) -> None:
    cast = Cast("a")

    async def start_for_ever(*, task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep_forever()

    async with running(Supervisor("root", [cast.spec("a"), ChildSpec("b", start_for_ever)])) as outcome:
        assert not outcome.ended.is_set()
    assert outcome.error is None
    assert cast.take_log() == "+a -a"


async def test_child_that_says_it_started_while_it_stops_is_still_stopping(autojump_clock: MockClock) -> None:
    async def start(*, task_status: trio.TaskStatus[None]) -> None:
        await sleep_shielded(1)
        task_status.started()
        await sleep_shielded(1)

    supervisor = Supervisor("root", [ChildSpec("a", start)])
    async with running(supervisor) as outcome:
        supervisor.request_stop()
        await trio.sleep(1.5)
        assert supervisor.snapshot("/root/a").status == "stopping"
        await outcome.ended.wait()
        assert supervisor.snapshot("/root/a").status == "stopped"


# Stop


async def test_children_stop_in_reverse_one_after_the_other(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    for probe in cast.probes.values():
        probe.cleanup = lambda: sleep_shielded(2)
    async with running(Supervisor("root", cast.specs(), journal=cast.journal)):
        cast.take_log()
        began = trio.current_time()
    assert cast.take_log() == "-c -b -a"
    assert trio.current_time() - began == pytest.approx(6)
    assert [(report.context, report.reason) for report in cast.reports] == [("shutdown", "shutdown")] * 3


async def test_child_with_a_hook_ends_by_itself_within_its_shutdown_time(autojump_clock: MockClock) -> None:
    stop, cancelled = trio.Event(), []

    async def drain(*, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        try:
            await stop.wait()
            await trio.sleep(3)
        except trio.Cancelled:
            cancelled.append(trio.current_time())
            raise

    async with running(Supervisor("root", [ChildSpec("a", drain, shutdown=4.0, on_shutdown=stop.set)])):
        began = trio.current_time()
    assert trio.current_time() - began == pytest.approx(3)
    assert cancelled == []


async def test_child_that_ignores_its_hook_is_cancelled_after_its_shutdown_time(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    async with running(Supervisor("root", [cast.spec("a", shutdown=4.0, on_shutdown=lambda: None)])):
        began = trio.current_time()
    assert cast["a"].ended_at == pytest.approx(began + 4)


async def test_child_whose_hook_fails_is_cancelled_at_once(autojump_clock: MockClock) -> None:
    cast = Cast("a")

    def fail() -> None:
        raise Boom("hook")

    async with running(Supervisor("root", [cast.spec("a", on_shutdown=fail)], journal=cast.journal)):
        began = trio.current_time()
    assert trio.current_time() == began
    assert cast.reports[0].context == "shutdown_error"
    assert isinstance(cast.reports[0].error, Boom)


async def test_child_without_a_hook_is_cancelled_at_once_and_has_its_shutdown_time_to_clean_up(
    autojump_clock: MockClock,
) -> None:
    cast = Cast("a")
    cast["a"].cleanup = lambda: sleep_shielded(4.9)
    async with running(Supervisor("root", cast.specs(), journal=cast.journal)):
        pass
    assert [report.context for report in cast.reports] == ["shutdown"]


@pytest.mark.parametrize("with_hook", [False, True])
async def test_child_that_shields_itself_is_reported_and_waited_for_while_its_siblings_stop(
    with_hook: bool, autojump_clock: MockClock
) -> None:
    cast = Cast("ab")
    cast["b"].cleanup = lambda: sleep_shielded(60)
    hook = (lambda: None) if with_hook else None
    specs = [cast.spec("a"), cast.spec("b", shutdown=5.0, on_shutdown=hook)]
    async with running(Supervisor("root", specs, journal=cast.journal)):
        began = trio.current_time()
    assert cast["a"].ended_at == pytest.approx(began + 6)
    assert cast["b"].ended_at == pytest.approx(began + (65 if with_hook else 60))
    report = cast.reports[0]
    assert (report.context, report.child_id, type(report.error)) == ("shutdown_error", "b", ShutdownTimeout)


async def test_shutdown_zero_kills_without_asking(autojump_clock: MockClock) -> None:
    cast, asked = Cast("a"), []
    async with running(Supervisor("root", [cast.spec("a", shutdown=0, on_shutdown=lambda: asked.append(1))])):
        began = trio.current_time()
    assert asked == []
    assert cast["a"].ended_at == began


async def test_shutdown_none_waits_for_ever(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    cast["a"].cleanup = lambda: sleep_shielded(100_000)
    async with running(Supervisor("root", [cast.spec("a", shutdown=None)], journal=cast.journal)):
        began = trio.current_time()
    assert trio.current_time() - began == pytest.approx(100_000)
    assert [report.context for report in cast.reports] == ["shutdown"]


@pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
async def test_crash_in_shutdown_is_reported_and_the_others_stop_all_the_same(
    strategy: str, autojump_clock: MockClock
) -> None:
    cast = Cast("abc")

    def fail() -> None:
        raise Boom("while cleaning up")

    cast["b"].cleanup = fail
    async with running(Supervisor("root", cast.specs(), strategy=strategy, journal=cast.journal)) as outcome:
        pass
    assert outcome.error is None
    contexts = {report.child_id: report.context for report in cast.reports}
    assert contexts == {"a": "shutdown", "b": "shutdown_error", "c": "shutdown"}


@pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
async def test_crash_in_the_shutdown_of_a_group_restart_counts_once(strategy: str, autojump_clock: MockClock) -> None:
    cast = Cast("ab")

    def fail() -> None:
        cast["b"].cleanup = None
        raise Boom("while cleaning up")

    cast["b"].cleanup = fail
    supervisor = Supervisor("root", cast.specs(), strategy=strategy)
    async with running(supervisor):
        cast["a"].crash()
        await wait_all_tasks_blocked()
        assert supervisor.snapshot().to_json()["restarts_in_period"] == 1
        assert (cast["a"].alive, cast["b"].alive) == (1, 1)


async def test_group_restart_waits_for_a_sibling_that_shields_itself(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    cast["b"].cleanup = lambda: sleep_shielded(60)
    supervisor = Supervisor("root", cast.specs(), strategy="one_for_all")
    async with running(supervisor):
        cast["a"].crash()
        await trio.sleep(59)
        assert supervisor.snapshot("/root/b").status == "stopping"
        assert cast["a"].starts == 1
        await trio.sleep(2)
        assert (cast["a"].starts, cast["b"].starts, cast["b"].peak) == (2, 2, 1)
        cast["b"].cleanup = None


# Cancelled and what is no Exception


async def test_cancelling_run_stops_the_children_in_order_and_is_not_swallowed(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    for probe in cast.probes.values():
        probe.cleanup = lambda: sleep_shielded(1)
    with trio.move_on_after(10) as scope:
        await Supervisor("root", cast.specs()).run()
    assert scope.cancelled_caught
    assert cast.take_log() == "+a +b +c -c -b -a"
    assert trio.current_time() == pytest.approx(scope.deadline + 3)
    assert list_actor_tasks() == []


async def test_cancelling_the_start_stops_what_has_started(autojump_clock: MockClock) -> None:
    cast = Cast("a")

    async def start_for_ever(*, task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep_forever()

    with trio.move_on_after(1) as scope:
        await Supervisor("root", [cast.spec("a"), ChildSpec("b", start_for_ever)]).run()
    assert scope.cancelled_caught
    assert cast.take_log() == "+a -a"
    assert list_actor_tasks() == []


async def test_cancelled_together_with_an_error_leaves_the_error(autojump_clock: MockClock) -> None:
    cast = Cast("")

    async def fail_when_cancelled() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise Boom("inner")

    async def start(*, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail_when_cancelled)
            nursery.start_soon(trio.sleep_forever)
            task_status.started()

    async with running(Supervisor("root", [ChildSpec("a", start)], journal=cast.journal)) as outcome:
        pass
    assert outcome.error is None
    report = cast.reports[0]
    assert report.context == "shutdown_error"
    assert isinstance(report.error, ExceptionGroup)
    assert report.error.subgroup(Boom) is not None


async def test_keyboard_interrupt_of_a_child_passes_after_its_siblings_have_stopped(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    supervisor = Supervisor("root", cast.specs())

    async def run_and_interrupt() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(supervisor.run)
            cast["a"].crash(KeyboardInterrupt())

    with pytest.raises(BaseExceptionGroup) as caught:
        await run_and_interrupt()
    assert caught.value.subgroup(KeyboardInterrupt) is not None
    assert cast.take_log() == "+a +b -a -b"
    assert list_actor_tasks() == []
    assert supervisor.snapshot().status == "stopped"


async def test_each_incarnation_is_one_task_named_by_its_path(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    inner = Supervisor("inner", [cast.spec("b")])
    async with running(Supervisor("root", [cast.spec("a"), inner.as_child()])):
        assert list_actor_tasks() == ["/root/a", "/root/inner", "/root/inner/b"]
        cast["b"].crash()
        await wait_all_tasks_blocked()
        assert list_actor_tasks() == ["/root/a", "/root/inner", "/root/inner/b"]


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


# Commands


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


# Settings


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"id": ""}, "the id must be"),
        ({"id": "a//b"}, "the id must be"),
        ({"id": "/a"}, "the id must be"),
        ({"id": "a\nb"}, "the id must be"),
        ({"start": "run"}, "start must be"),
        ({"restart": "always"}, "permanent, transient, temporary"),
        ({"type": "actor"}, "worker, supervisor"),
        ({"shutdown": -2.0}, "shutdown is"),
        ({"shutdown": float("inf")}, "shutdown is"),
        ({"significant": True}, "cannot be significant"),
    ],
)
def test_spec_that_cannot_work_is_refused(settings: dict[str, object], fault: str) -> None:
    with pytest.raises(InvalidSpec, match=fault):
        ChildSpec(**({"id": "a", "start": Cast("a")["a"].run} | settings))  # type: ignore[arg-type]


def test_spec_has_the_defaults_of_otp() -> None:
    probe = Cast("a")["a"]
    spec = ChildSpec("a", probe.run)
    assert (spec.restart, spec.shutdown, spec.type, spec.significant) == ("permanent", 5.0, "worker", False)
    assert spec.introspect is probe
    assert ChildSpec("a", probe.run, type="supervisor").shutdown is None
    assert Supervisor("inner", []).as_child(restart="transient").restart == "transient"


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"strategy": "all"}, "one_for_one, one_for_all, rest_for_one"),
        ({"auto_shutdown": "some"}, "never, any_significant, all_significant"),
        ({"max_restarts": -1}, "max_restarts"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"name": "a//b"}, "the name must be"),
        ({"children": Cast("a").specs() * 2}, "two children of the id 'a'"),
        ({"children": [Cast("a").spec("a", restart="transient", significant=True)]}, "no auto_shutdown"),
    ],
)
def test_supervisor_that_cannot_work_is_refused(settings: dict[str, object], fault: str) -> None:
    with pytest.raises(InvalidSpec, match=fault):
        Supervisor(**({"name": "root", "children": []} | settings))  # type: ignore[arg-type]


async def test_supervisor_runs_once_at_a_time(autojump_clock: MockClock) -> None:
    supervisor = Supervisor("root", [])
    async with running(supervisor):
        with pytest.raises(RuntimeError, match="runs already"):
            await supervisor.run()
