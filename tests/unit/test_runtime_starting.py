"""How a supervisor starts its children, and which settings it refuses."""

from __future__ import annotations

import pytest
import trio
from runtime_probes import Boom, Cast, list_actor_tasks, running, sleep_shielded
from trio.testing import MockClock

from picloud.actors.runtime import (
    ChildSpec,
    InvalidSpec,
    NeverStarted,
    Supervisor,
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
