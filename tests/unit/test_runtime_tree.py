"""The tree as JSON, lookups by path, and health."""

from __future__ import annotations

import json
import re

import pytest
import trio
from runtime_probes import Boom, Cast, running
from trio.testing import MockClock, assert_no_checkpoints, wait_all_tasks_blocked

from picloud.actors.runtime import (
    ActorNotFound,
    ChildSpec,
    DynamicSupervisor,
    HealthGauge,
    Mailbox,
    RootHasNoSupervisor,
    Supervisor,
    WakeMailbox,
)
from picloud.actors.tree_text import render_tree

RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Consumer:
    """An actor with all that the tree can show."""

    def __init__(self) -> None:
        self.mailbox = Mailbox[str](7)
        self.health = HealthGauge()
        self.figures: dict[str, object] = {"in_flight": 3}

    def details(self) -> dict[str, object]:
        return self.figures

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        await trio.sleep_forever()


class Sample:
    """A tree of each kind of thing: /picloud with a, and consumers with shop/orders."""

    def __init__(self) -> None:
        self.cast = Cast("a")
        self.consumer = Consumer()
        self.consumers = DynamicSupervisor("consumers", max_restarts=9, max_seconds=300.0, backoff=None)
        self.root = Supervisor(
            "picloud",
            [self.cast.spec("a"), self.consumers.as_child()],
            strategy="rest_for_one",
            journal=self.cast.journal,
        )

    async def start_consumer(self) -> None:
        await self.consumers.start_child(ChildSpec("shop/orders", self.consumer.run, "transient", shutdown=20.0))


async def test_worker_is_shown_with_the_fields_of_the_api(autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        await sample.start_consumer()
        await trio.sleep(12.5)
        sample.consumer.mailbox.send_nowait("m")
        node = sample.root.snapshot("/picloud/consumers/shop/orders").to_json()
    started_at, health = node.pop("started_at"), node.pop("health")
    assert RFC3339.fullmatch(started_at)
    assert RFC3339.fullmatch(health.pop("since"))
    assert health == {"state": "ok", "error": None}
    assert node == {
        "id": "shop/orders",
        "path": "/picloud/consumers/shop/orders",
        "type": "worker",
        "restart": "transient",
        "shutdown": 20.0,
        "status": "running",
        "incarnation": 1,
        "restart_count": 0,
        "uptime_secs": 12.5,
        "last_exit": None,
        "mailbox": {
            "current_buffer_used": 1,
            "max_buffer_size": 7,
            "tasks_waiting_send": 0,
            "tasks_waiting_receive": 0,
        },
        "details": {"in_flight": 3},
    }


async def test_supervisor_is_shown_with_its_figures_and_children(autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        await sample.start_consumer()
        sample.consumers.kill_child("shop/orders")
        await trio.sleep(1)
        node = sample.root.snapshot().to_json()
        json.dumps(node)
    assert (node["type"], node["status"], node["shutdown"], node["incarnation"]) == ("supervisor", "running", None, 1)
    assert (node["strategy"], node["max_restarts"], node["max_seconds"]) == ("rest_for_one", 3, 5.0)
    assert node["counts"] == {"specs": 2, "active": 2, "supervisors": 1, "workers": 1}
    assert node["restarts_in_period"] == 0
    assert [child["path"] for child in node["children"]] == ["/picloud/a", "/picloud/consumers"]
    consumers = node["children"][1]
    assert consumers["restarts_in_period"] == 1
    assert consumers["strategy"] == "one_for_one"
    (consumer,) = consumers["children"]
    assert (consumer["incarnation"], consumer["restart_count"]) == (2, 1)
    last_exit = consumer["last_exit"]
    assert RFC3339.fullmatch(last_exit.pop("at"))
    assert last_exit == {
        "reason": "error",
        "error_type": "Killed",
        "message": "incarnation 1 of /picloud/consumers/shop/orders was killed",
    }


async def test_depth_limits_what_is_built_and_counts_stay(autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        await sample.start_consumer()
        alone = sample.root.snapshot(depth=0).to_json()
        assert alone["children"] is None
        assert alone["counts"]["specs"] == 2
        one = sample.root.snapshot(depth=1).to_json()
        assert one["children"][1]["children"] is None
        assert one["children"][1]["counts"]["specs"] == 1
        assert sample.root.snapshot(depth=2) == sample.root.snapshot()


@pytest.mark.parametrize(
    "path",
    [
        "/picloud/consumers/shop",
        "/picloud/consumers/shop/orders/x",
        "/picloud/a/b",
        "/pi",
        "/picloud/",
        "",
        "picloud/a",
    ],
)
async def test_unknown_path_is_told(path: str, autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        await sample.start_consumer()
        with pytest.raises(ActorNotFound) as caught:
            sample.root.snapshot(path)
        assert caught.value.path == path


async def test_path_leads_through_ids_with_slashes(autojump_clock: MockClock) -> None:
    cast = Cast("abc")
    inner = DynamicSupervisor("x/y", children=[ChildSpec("c/d", cast["c"].run)])
    other = Supervisor("x", [cast.spec("a")])
    root = Supervisor("root", [other.as_child(), inner.as_child(), cast.spec("b")])
    async with running(root):
        assert root.snapshot("/root/x/y/c/d").id == "c/d"
        assert root.snapshot("/root/x/a").id == "a"
        assert inner.snapshot("/root/x/y/c/d").id == "c/d"
        assert root.snapshot("/root").id == "root"
        await root.restart("/root/x/y/c/d")
        assert cast["c"].starts == 2


async def test_root_cannot_be_restarted(autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        with pytest.raises(RootHasNoSupervisor):
            await sample.root.restart("/picloud")


async def test_snapshot_has_no_checkpoint(autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        with assert_no_checkpoints():
            sample.root.snapshot()


async def test_error_in_details_is_shown_and_hides_nothing(autojump_clock: MockClock) -> None:
    sample = Sample()
    sample.consumer.details = lambda: {"ratio": 1 / 0}  # type: ignore[method-assign]
    async with running(sample.root):
        await sample.start_consumer()
        node = sample.root.snapshot("/picloud/consumers/shop/orders")
    assert node.details == {"error": "ZeroDivisionError: division by zero"}


async def test_snapshot_stays_as_it_was(autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        await sample.start_consumer()
        node = sample.root.snapshot("/picloud/consumers/shop/orders")
        sample.consumer.figures["in_flight"] = 99
        assert node.details == {"in_flight": 3}
        with pytest.raises(AttributeError):
            node.status = "parked"  # type: ignore[misc]


async def test_status_follows_the_life_of_a_tree(autojump_clock: MockClock) -> None:
    sample = Sample()
    assert sample.root.snapshot().to_json()["status"] == "stopped"
    assert sample.root.snapshot("/picloud/a").started_at is None
    async with running(sample.root):
        assert sample.root.snapshot().status == "running"
        assert sample.root.snapshot("/picloud/consumers").status == "running"
    node = sample.root.snapshot()
    assert node.status == "stopped"
    assert node.last_exit is not None
    assert node.last_exit.reason == "shutdown"


async def test_wake_mailbox_is_shown_too(autojump_clock: MockClock) -> None:
    class Sleeper:
        mailbox = WakeMailbox()

        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            task_status.started()
            await self.mailbox.wait()

    root = Supervisor("root", [ChildSpec("a", Sleeper().run, "transient")])
    async with running(root):
        assert root.snapshot("/root/a").mailbox == (0, 1, 0, 1)
        Sleeper.mailbox.wake()


async def test_branches_deeper_than_asked_for_are_not_built(autojump_clock: MockClock) -> None:
    consumers = DynamicSupervisor("consumers")
    root = Supervisor("picloud", [consumers.as_child()])
    built = []

    class Counted(Consumer):
        def details(self) -> dict[str, object]:
            built.append(self)
            return {}

    async with running(root):
        await consumers.start_children(ChildSpec(f"app/{n}", Counted().run) for n in range(3000))
        assert json.loads(render_tree(root, depth=1))["children"][0]["counts"]["active"] == 3000
        assert built == []
        assert len(json.loads(render_tree(root))["children"][0]["children"]) == 3000


async def test_text_of_the_tree_says_the_same_as_its_record(autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        await sample.start_consumer()
        sample.consumer.health.degraded(Boom("no database"))
        for path in (None, "/picloud/consumers", "/picloud/consumers/shop/orders"):
            for depth in (None, 0, 1):
                assert json.loads(render_tree(sample.root, path, depth)) == sample.root.snapshot(path, depth).to_json()


async def test_snapshot_does_not_change_with_the_actor(autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        await sample.start_consumer()
        before = sample.root.snapshot()
        text = before.to_json()
        sample.consumer.health.degraded(Boom("no database"))
        sample.consumers.kill_child("shop/orders")
        await trio.sleep(1)
        assert before.to_json() == text
        after = sample.root.snapshot("/picloud/consumers/shop/orders")
        assert (after.incarnation, after.restart_count, after.health.state) == (2, 1, "degraded")


# Health


def test_actor_is_well_until_it_says_otherwise_and_again() -> None:
    gauge = HealthGauge()
    first = gauge.current
    assert (first.state, first.error) == ("ok", None)
    gauge.ok()
    assert gauge.current is first
    gauge.degraded(Boom("no database"))
    began = gauge.current.since
    assert gauge.current == ("degraded", began, "Boom: no database")
    gauge.degraded("still none")
    assert gauge.current == ("degraded", began, "still none")
    gauge.ok()
    assert gauge.current.state == "ok"
    assert gauge.current.since >= began


def test_error_without_text_is_told_by_its_type() -> None:
    gauge = HealthGauge()
    gauge.degraded(ExceptionGroup("Exceptions from Trio nursery", [ConnectionResetError()]))
    assert gauge.current.error == "ConnectionResetError"


async def test_degraded_actors_are_found_and_do_not_die(autojump_clock: MockClock) -> None:
    sample = Sample()
    async with running(sample.root):
        await sample.start_consumer()
        assert sample.root.degraded() == []
        sample.consumer.health.degraded(Boom("no database"))
        await wait_all_tasks_blocked()
        ((path, health),) = sample.root.degraded()
        assert (path, health.error) == ("/picloud/consumers/shop/orders", "Boom: no database")
        node = sample.root.snapshot(path)
        assert (node.status, node.incarnation) == ("running", 1)
        assert node.to_json()["health"]["error"] == "Boom: no database"
