"""How children are stopped, whatever they do against it; Cancelled and what is no Exception."""

from __future__ import annotations

import pytest
import trio
from runtime_probes import Boom, Cast, list_actor_tasks, running, sleep_shielded
from trio.testing import MockClock, wait_all_tasks_blocked

from picloud.actors.runtime import (
    ChildSpec,
    ShutdownTimeout,
    Supervisor,
)

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
