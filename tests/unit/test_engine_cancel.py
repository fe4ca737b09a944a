"""Cancelling an execution: it ends at its next tick, leaves nothing, and its handler cannot prevent it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from engine_harness import Harness, open_harness

from picloud.engine import Cancel, Outcome
from picloud.types import ExecutionId

STUBBORN = """
    def handle(event, ctx):
        queue.enqueue("left", 1)
        queue.enqueue("started", 1, immediate=True)
        while True:
            try:
                try:
                    while True:
                        pass
                finally:
                    queue.enqueue("left", 2)
            except Exception:
                pass
    """
ASLEEP = """
    import time

    def handle(event, ctx):
        queue.enqueue("started", 1, immediate=True)
        time.sleep(60)
    """
NOOP = "def handle(event, ctx):\n    return None"


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness(timeout_secs=60.0) as harness:
        yield harness


def run_and_cancel(harness: Harness, source: str, cancel: Cancel) -> list[Outcome]:
    """Run `source`, then a job that does nothing; cancel the first once it runs."""
    outcomes: list[Outcome] = []
    jobs = [harness.job(source), harness.job(NOOP)]
    thread = threading.Thread(target=lambda: outcomes.extend(harness.engine.run_slice(jobs, slice_secs=60.0)))
    thread.start()
    wait_until(lambda: bool(harness.world.sent))
    (running,) = harness.engine.running()
    assert running.job is jobs[0]
    assert abs(running.started_at - time.time()) < 30
    assert not running.stopping
    assert not harness.engine.cancel(ExecutionId(uuid4()), cancel)
    assert harness.engine.cancel(running.id, cancel)
    thread.join(10.0)
    assert not thread.is_alive()
    assert outcomes[0].execution_id == running.id
    return outcomes


@pytest.mark.parametrize("source", [STUBBORN, ASLEEP], ids=["stubborn", "asleep"])
def test_a_cancelled_execution_fails_without_effects_and_the_next_one_runs(harness: Harness, source: str) -> None:
    cancelled, after = run_and_cancel(harness, source, Cancel("ops"))
    assert not cancelled.ok
    assert not cancelled.cancelled, "not a shutdown: it counts as an attempt"
    assert cancelled.discarded_by is None
    assert cancelled.messages == ()
    assert cancelled.error is not None
    assert cancelled.error.type == "Cancelled"
    assert cancelled.error.message.startswith("cancelled by 'ops' (line ")
    assert after.ok
    assert harness.engine.running() == []


def test_discarding_is_told_with_the_name(harness: Harness) -> None:
    cancelled, after = run_and_cancel(harness, STUBBORN, Cancel("ops", discard=True))
    assert cancelled.discarded_by == "ops"
    assert after.discarded_by is None


def test_what_has_ended_cannot_be_cancelled(harness: Harness) -> None:
    done = harness.run(NOOP)
    assert not harness.engine.cancel(done.execution_id, Cancel("ops"))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
