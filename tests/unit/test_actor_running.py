"""Running: what it publishes and when, and that wishes reach the engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest
import trio
from engine_harness import Harness, open_harness
from trio.testing import MockClock

from picloud.actors.running import Published, Running, RunningConfig
from picloud.actors.runtime import WakeMailbox
from picloud.db.running import CancelWish, OwnExecution
from picloud.engine import Outcome
from picloud.errors import DatabaseUnavailable

SPIN = """
    def handle(event, ctx):
        queue.enqueue("started", 1, immediate=True)
        while True:
            pass
    """


class Board:
    """What was published; it wants everything cancelled that is named `doomed`."""

    def __init__(self) -> None:
        self.published: list[list[OwnExecution]] = []
        self.cancels = False
        self.is_away = False

    async def __call__(self, running: Sequence[OwnExecution]) -> list[CancelWish]:
        if self.is_away:
            raise DatabaseUnavailable("away")
        self.published.append(list(running))
        return [CancelWish(one.id, "ann", True) for one in running if self.cancels]


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness(timeout_secs=60.0) as harness:
        yield harness


async def test_an_idle_node_asks_the_database_nothing(harness: Harness, autojump_clock: MockClock) -> None:
    board = Board()
    with trio.move_on_after(60):
        await Running(harness.engine, board, WakeMailbox(), RunningConfig()).run()
    assert board.published == []


async def test_what_runs_long_is_published_stopped_on_demand_and_taken_back(harness: Harness) -> None:
    board, outcomes = Board(), list[Outcome]()
    job = harness.job(SPIN)
    thread = threading.Thread(target=lambda: outcomes.extend(harness.engine.run_slice([job], slice_secs=60.0)))
    thread.start()
    while not harness.world.sent:
        await trio.to_thread.run_sync(time.sleep, 0.005)
    young = Running(harness.engine, board, WakeMailbox(), RunningConfig(young=3600.0))
    assert await young.look() == Published()
    actor = Running(harness.engine, board, WakeMailbox(), RunningConfig(young=0.0))
    assert await actor.look() == Published(running=1)
    (shown,) = board.published[0]
    assert (shown.script_name, shown.source, shown.queue_name, shown.message_id) == ("main", "queue", "orders", "m-1")
    details = actor.details()
    assert details["running"] == 1
    board.cancels = True
    assert await actor.look() == Published(running=1, cancelled=1)
    assert actor.details()["cancelled"] == 1
    await trio.to_thread.run_sync(thread.join, 10.0)
    assert [outcome.discarded_by for outcome in outcomes] == ["ann"]
    assert await actor.look() == Published()
    assert board.published[-1] == []
    assert await actor.look() == Published()
    assert len(board.published) == 3


async def test_an_outage_is_shown_and_the_next_look_is_tried(harness: Harness, autojump_clock: MockClock) -> None:
    board = Board()
    actor = Running(harness.engine, board, WakeMailbox(), RunningConfig(young=0.0))
    actor._known = True  # as after an execution that was published
    board.is_away = True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(actor.run)
        await trio.sleep(2.5)
        assert actor.health.current.state == "degraded"
        board.is_away = False
        await trio.sleep(1.0)
        assert actor.health.current.state == "ok"
        nursery.cancel_scope.cancel()
    assert board.published == [[]]
