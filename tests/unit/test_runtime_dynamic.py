"""The dynamic supervisor: children that come and go, back off, are parked, and never notice each other."""

from __future__ import annotations

import pytest
import trio
from runtime_probes import Boom, Cast, list_actor_tasks, running, sleep_before_started
from trio.testing import MockClock, wait_all_tasks_blocked

from picloud.actors.runtime import (
    Backoff,
    ChildExists,
    ChildSpec,
    DynamicSupervisor,
    InvalidSpec,
    Killed,
    NeverStarted,
    Supervisor,
    SupervisorNotRunning,
    TooManyChildren,
)

STEADY = Backoff(base=1.0, cap=8.0, jitter=0.0)


async def test_start_child_returns_once_the_child_is_started(autojump_clock: MockClock) -> None:
    supervisor = DynamicSupervisor("pool")
    async with running(supervisor):
        await supervisor.start_child(ChildSpec("shop/orders", sleep_before_started(3)))
        assert trio.current_time() == pytest.approx(3)
        assert "shop/orders" in supervisor
        assert supervisor.children_ids() == ["shop/orders"]
        assert supervisor.snapshot("/pool/shop/orders").status == "running"


async def test_children_start_at_the_same_time(autojump_clock: MockClock) -> None:
    supervisor = DynamicSupervisor("pool")
    async with running(supervisor):
        failures = await supervisor.start_children(ChildSpec(str(n), sleep_before_started(n)) for n in range(1, 6))
        assert failures == {}
        assert trio.current_time() == pytest.approx(5)
        assert supervisor.count_children() == (5, 5, 0, 5)


async def test_children_that_cannot_start_are_told_by_id_and_the_others_run(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    cast["b"].start_errors = [Boom("b")]
    supervisor = DynamicSupervisor("pool", max_children=2)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        failures = await supervisor.start_children([cast.spec("a"), cast.spec("b"), cast.spec("c")])
        assert {child_id: type(error) for child_id, error in failures.items()} == {
            "a": ChildExists,
            "b": Boom,
            "c": TooManyChildren,
        }
        assert supervisor.children_ids() == ["a"]


async def test_failed_first_start_is_raised_and_the_child_forgotten(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    cast["a"].start_errors = [Boom("no queue")]
    supervisor = DynamicSupervisor("pool", journal=cast.journal)
    async with running(supervisor):
        with pytest.raises(Boom, match="no queue"):
            await supervisor.start_child(cast.spec("a"))
        assert "a" not in supervisor
        assert [report.context for report in cast.reports] == ["start_error"]
        await supervisor.start_child(cast.spec("a"))


async def test_child_that_returns_without_started_has_failed_to_start(autojump_clock: MockClock) -> None:
    async def forget(*, task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep(1)

    supervisor = DynamicSupervisor("pool")
    async with running(supervisor):
        with pytest.raises(NeverStarted):
            await supervisor.start_child(ChildSpec("a", forget))


async def test_child_whose_starter_is_cancelled_is_gone_with_it(autojump_clock: MockClock) -> None:
    supervisor = DynamicSupervisor("pool")
    async with running(supervisor):
        with trio.move_on_after(1) as scope:
            await supervisor.start_child(ChildSpec("a", sleep_before_started(10)))
        assert scope.cancelled_caught
        assert "a" not in supervisor
        with trio.move_on_after(1):
            await supervisor.start_children([ChildSpec(str(n), sleep_before_started(n)) for n in (0.5, 10)])
        assert supervisor.children_ids() == ["0.5"]
        assert list_actor_tasks() == ["/pool/0.5"]


async def test_ids_are_unique_and_children_limited(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    supervisor = DynamicSupervisor("pool", max_children=2)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        with pytest.raises(ChildExists):
            await supervisor.start_child(cast.spec("a"))
        await supervisor.start_child(cast.spec("b"))
        with pytest.raises(TooManyChildren):
            await supervisor.start_child(cast.spec("c"))
        with pytest.raises(InvalidSpec):
            DynamicSupervisor("pool", children=cast.specs(), max_children=2)


@pytest.mark.parametrize(
    ("restart", "way", "restarted"),
    [
        ("permanent", "finish", True),
        ("permanent", "crash", True),
        ("transient", "finish", False),
        ("transient", "crash", True),
        ("temporary", "finish", False),
        ("temporary", "crash", False),
    ],
)
async def test_child_that_ends_is_restarted_by_type_or_forgotten(
    restart: str, way: str, restarted: bool, autojump_clock: MockClock
) -> None:
    cast = Cast("ab")
    supervisor = DynamicSupervisor("pool", backoff=STEADY)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        await supervisor.start_child(cast.spec("b", restart=restart))
        getattr(cast["b"], way)()
        await trio.sleep(1.1)
        assert ("b" in supervisor) is restarted
        assert cast["b"].starts == (2 if restarted else 1)
        assert (cast["a"].starts, cast["a"].alive) == (1, 1)


async def test_restarts_back_off_exponentially(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = DynamicSupervisor("pool", backoff=STEADY, max_restarts=10, max_seconds=1000.0)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        for restarts, delay in enumerate([1, 2, 4, 8, 8], start=1):
            cast["a"].crash()
            await trio.sleep(delay - 0.1)
            assert supervisor.snapshot("/pool/a").status == "backing_off"
            await trio.sleep(0.2)
            assert supervisor.snapshot("/pool/a").restart_count == restarts
            assert cast["a"].alive == 1


def test_jitter_spreads_a_delay_around_its_middle() -> None:
    draws = iter([0.0, 0.5, 1.0])
    backoff = Backoff(base=10.0, cap=10.0, jitter=0.2, draw=lambda: next(draws))
    assert [backoff.compute_delay(1) for _ in range(3)] == pytest.approx([8.0, 10.0, 12.0])
    assert Backoff(jitter=0.0).compute_delay(10_000) == 30.0


@pytest.mark.parametrize("settings", [{"base": -1.0}, {"base": 2.0, "cap": 1.0}, {"jitter": 2.0}])
def test_backoff_that_cannot_work_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidSpec):
        Backoff(**settings)


async def crash_until_parked(cast: Cast, supervisor: DynamicSupervisor) -> None:
    while supervisor.snapshot("/pool/a").status != "parked":
        if cast["a"].alive:
            cast["a"].crash()
        await trio.sleep(0.01)


async def test_child_past_its_limit_is_parked_and_tried_again_after_the_cool_down(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    supervisor = DynamicSupervisor("pool", backoff=None, max_restarts=3, max_seconds=1000.0, cool_down=60.0)
    async with running(supervisor) as outcome:
        await supervisor.start_children(cast.specs())
        await crash_until_parked(cast, supervisor)
        assert cast["a"].starts == 4
        node = supervisor.snapshot("/pool/a").to_json()
        assert node["last_exit"]["message"] == "a went off"
        assert node["uptime_secs"] is None
        assert supervisor.count_children() == (2, 1, 0, 2)
        await trio.sleep(59)
        assert cast["a"].starts == 4
        await trio.sleep(2)
        assert (cast["a"].starts, cast["a"].alive) == (5, 1)
        cast["a"].crash()
        await wait_all_tasks_blocked()
        await trio.sleep(0.1)
        assert cast["a"].alive == 1, "a clean slate after the cool-down"
        assert (cast["b"].starts, cast["b"].alive) == (1, 1)
        assert not outcome.ended.is_set()


async def test_parked_child_is_restarted_by_hand(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = DynamicSupervisor("pool", backoff=None, max_restarts=0, cool_down=None)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        await crash_until_parked(cast, supervisor)
        await trio.sleep(80_000)
        assert supervisor.snapshot("/pool/a").status == "parked"
        await supervisor.restart("/pool/a")
        assert supervisor.snapshot("/pool/a").status == "running"


async def test_killed_child_counts_as_crashed(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = DynamicSupervisor("pool", backoff=None, journal=cast.journal)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a", restart="transient"))
        supervisor.kill_child("a")
        await trio.sleep(0.1)
        assert isinstance(cast.reports[0].error, Killed)
        assert cast["a"].starts == 2


async def test_kill_of_a_child_that_rests_changes_nothing(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    supervisor = DynamicSupervisor("pool", backoff=STEADY, max_restarts=0, cool_down=60.0)
    async with running(supervisor):
        await supervisor.start_child(cast.spec("a"))
        supervisor.kill_child("a")
        await trio.sleep(1)
        supervisor.kill_child("a")
        await trio.sleep(1)
        assert supervisor.snapshot("/pool/a").status == "parked"


async def test_first_children_are_started_with_each_incarnation_and_the_others_gone(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    pool = DynamicSupervisor("pool", children=[cast.spec("a")])
    root = Supervisor("root", [pool.as_child()])
    async with running(root):
        await pool.start_child(cast.spec("b"))
        await root.restart_child("pool")
        assert pool.children_ids() == ["a"]
        assert (cast["a"].starts, cast["b"].alive) == (2, 0)


async def test_first_child_that_fails_to_start_fails_the_supervisor(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    cast["b"].start_errors = [Boom("no roster")]
    with pytest.raises(Boom, match="no roster"):
        await DynamicSupervisor("pool", children=cast.specs()).run()
    assert cast["a"].alive == 0
    assert list_actor_tasks() == []


async def test_first_child_may_start_others_while_it_starts(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    pool = DynamicSupervisor("pool", children=[ChildSpec("roster", lambda *, task_status: start_others(task_status))])

    async def start_others(task_status: trio.TaskStatus[None]) -> None:
        await pool.start_child(cast.spec("a"))
        task_status.started()
        await trio.sleep_forever()

    async with running(pool):
        assert pool.children_ids() == ["roster", "a"]


async def test_command_to_a_supervisor_that_does_not_run_is_refused(autojump_clock: MockClock) -> None:
    supervisor = DynamicSupervisor("pool")
    with pytest.raises(SupervisorNotRunning):
        await supervisor.start_child(Cast("a").spec("a"))
    with pytest.raises(SupervisorNotRunning):
        await supervisor.start_children([])


@pytest.mark.parametrize("settings", [{"cool_down": 0.0}, {"max_restarts": -1}, {"max_seconds": 0.0}])
def test_supervisor_that_cannot_work_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidSpec):
        DynamicSupervisor("pool", **settings)  # type: ignore[arg-type]


async def test_cancelling_run_stops_all_and_is_not_swallowed(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    with trio.move_on_after(1) as scope:
        await DynamicSupervisor("pool", children=cast.specs()).run()
    assert scope.cancelled_caught
    assert list_actor_tasks() == []


async def test_thousands_of_children_restart_without_noticing_each_other(autojump_clock: MockClock) -> None:
    supervisor = DynamicSupervisor("pool", backoff=STEADY)
    async with running(supervisor):
        await supervisor.start_children([ChildSpec(f"app/{n}", sleep_before_started(0)) for n in range(2000)])
        for n in range(0, 2000, 2):
            supervisor.kill_child(f"app/{n}")
        await trio.sleep(1.5)
        incarnations = {node.id: node.incarnation for node in supervisor.which_children()}
        assert set(incarnations.values()) == {1, 2}
        assert all(incarnation == 2 - int(child_id[4:]) % 2 for child_id, incarnation in incarnations.items())
        assert len(list_actor_tasks()) == 2000
