"""Many jobs in a row, and how an engine ends."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest
from engine_harness import SHOP, Harness, MemoryWorld, open_harness

from picloud.engine import Engine, EngineSettings, Outcome
from picloud.engine.execution import Run
from picloud.errors import EngineClosed, ScriptInvalid
from picloud.types import AppId, Script

NOOP = "def handle(event, ctx):\n    return None"
SPIN = """
    def handle(event, ctx):
        queue.enqueue("started", 1, immediate=True)
        while True:
            pass
    """


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness(timeout_secs=20.0) as harness:
        yield harness


def test_jobs_run_in_order_and_keep_their_key(harness: Harness) -> None:
    jobs = [harness.job("def handle(event, ctx):\n    return event.payload", n, key=f"k{n}") for n in range(5)]
    outcomes = harness.engine.run_slice(jobs, slice_secs=60.0)
    assert [(outcome.job.key, outcome.value) for outcome in outcomes] == [(f"k{n}", n) for n in range(5)]
    assert all(outcome.ok and 0 < outcome.duration < 1 for outcome in outcomes)


def test_a_failure_does_not_touch_the_next_job(harness: Harness) -> None:
    source = "def handle(event, ctx):\n    queue.enqueue('q', event.payload)\n    return 1 / event.payload"
    outcomes = harness.engine.run_slice([harness.job(source, n) for n in (1, 0, 2)], slice_secs=60.0)
    assert [outcome.ok for outcome in outcomes] == [True, False, True]
    assert [[message.payload for message in outcome.messages] for outcome in outcomes] == [["1"], [], ["2"]]


@pytest.mark.parametrize(
    "source",
    [
        "def handle(event, ctx):\n    return None",
        "from picloud.sdk import queue\n\ndef handle(event, ctx):\n    queue.enqueue('q', event.payload)",
        "import picloud.sdk as sdk\n\ndef handle(event, ctx):\n    log.info(1)\n    print(sdk.SDK_VERSION)",
        "def helper(n):\n    return n if n == 0 else helper(n - 1)\n\ndef handle(event, ctx):\n    return helper(3)",
    ],
)
def test_an_execution_leaves_nothing_to_the_garbage_collector(harness: Harness, source: str) -> None:
    jobs = [harness.job(source, 1) for _ in range(20)]
    harness.engine.run_slice(jobs, slice_secs=60.0)
    gc.collect()
    gc.disable()
    try:
        outcomes = harness.engine.run_slice(jobs, slice_secs=60.0)
        # another thread's leftovers may be among them: far fewer than one for each job
        assert gc.collect() < len(jobs)
    finally:
        gc.enable()
    assert all(outcome.ok for outcome in outcomes)


def test_a_slice_gives_the_rest_back_when_its_time_is_over(harness: Harness) -> None:
    source = """
        def handle(event, ctx):
            end = ctx.remaining_secs() - 0.02
            while ctx.remaining_secs() > end:
                pass
        """
    outcomes = harness.engine.run_slice([harness.job(source)] * 50, slice_secs=0.05)
    assert 1 <= len(outcomes) < 50
    assert all(outcome.ok for outcome in outcomes)


def test_a_slice_runs_one_job_even_without_time(harness: Harness) -> None:
    assert len(harness.engine.run_slice([harness.job(NOOP)] * 3, slice_secs=0.0)) == 1


def test_no_jobs_are_no_outcomes(harness: Harness) -> None:
    assert harness.engine.run_slice([], slice_secs=1.0) == []


def test_stop_all_cancels_what_runs_and_leaves_the_rest(harness: Harness) -> None:
    outcomes: list[Outcome] = []
    thread = _start(lambda: outcomes.extend(harness.engine.run_slice([harness.job(SPIN)] * 3, slice_secs=60.0)))
    _wait_until(lambda: bool(harness.world.sent))
    harness.engine.stop_all("the server is shutting down")
    thread.join(5.0)
    assert not thread.is_alive()
    (outcome,) = outcomes
    assert outcome.cancelled
    assert not outcome.ok
    assert outcome.error is not None
    assert outcome.error.message.startswith("the server is shutting down (line ")
    assert harness.engine.run_slice([harness.job(NOOP)], slice_secs=1.0) == []


def test_what_finished_or_failed_before_the_stop_is_not_cancelled(harness: Harness) -> None:
    fine, failed = harness.run(NOOP), harness.run("def handle(event, ctx):\n    raise ValueError('no')")
    harness.engine.stop_all("the server is shutting down")
    assert not fine.cancelled
    assert not failed.cancelled


def test_a_closed_engine_refuses(harness: Harness) -> None:
    harness.engine.close()
    with pytest.raises(EngineClosed):
        harness.engine.run_slice([harness.job(NOOP)], slice_secs=1.0)


def test_closing_twice_is_fine(harness: Harness) -> None:
    harness.engine.close()
    harness.engine.close()


class _ClosingWorld(MemoryWorld):
    """Shuts its engine down in the middle of a call."""

    engine: Engine

    def find_script(self, app_id: AppId, name: str) -> Script | None:
        self.engine.closed = True
        return super().find_script(app_id, name)


def test_a_bridge_used_after_the_shutdown_says_so() -> None:
    with open_harness() as harness:
        world = _ClosingWorld()
        world.engine = harness.engine
        harness.world = harness.engine.world = world
        harness.deploy("callee", "def handle(event, ctx):\n    return 1")
        value = harness.value(
            """
            def handle(event, ctx):
                invoke("callee")
                said = []
                for call in [lambda: queue.enqueue("q", 1), lambda: queue.depth("q"), lambda: invoke("callee")]:
                    try:
                        call()
                    except Exception as error:
                        said.append(str(error))
                return said
            """
        )
    assert value == ["picloud was shut down while this handler was running"] * 3


def test_a_run_does_not_keep_its_engine_alive() -> None:
    engine = Engine(EngineSettings(), MemoryWorld())
    harness = Harness.__new__(Harness)
    harness.engine = engine
    run = Run(engine, harness.job(NOOP))
    gone = weakref.ref(engine)
    engine.close()
    del engine, harness
    gc.collect()
    assert gone() is None
    with pytest.raises(EngineClosed, match="picloud was shut down"):
        run.engine()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_generator_that_outlives_its_execution_sends_nothing(harness: Harness) -> None:
    source = """
        def late():
            try:
                yield 1
            finally:
                queue.enqueue("late", 1, immediate=True)
        def handle(event, ctx):
            kept = late()
            next(kept)
            kept_in_a_cycle = [kept]
            kept_in_a_cycle.append(kept_in_a_cycle)
        """
    for _ in range(5):
        harness.run(source)
    gc.collect()
    harness.run(NOOP)
    assert harness.world.sent == []


def test_threads_share_one_engine(harness: Harness) -> None:
    harness.deploy("callee", "def handle(event, ctx):\n    return event.body * 2")
    source = "def handle(event, ctx):\n    return invoke('callee', event.payload)"
    values: list[int] = []

    def run(first: int) -> None:
        jobs = [harness.job(source, n) for n in range(first, first + 50)]
        values.extend(outcome.value for outcome in harness.engine.run_slice(jobs, slice_secs=60.0))

    threads = [_start(lambda first=first: run(first)) for first in range(0, 200, 50)]
    for thread in threads:
        thread.join()
    assert sorted(values) == [n * 2 for n in range(200)]


def test_compile_finds_every_fault_and_caches_code(harness: Harness) -> None:
    with pytest.raises(ScriptInvalid) as caught:
        harness.engine.compile("bad", "import os\nimport sys\ndef handle(event, ctx):\n    return 1")
    assert [fault.line for fault in caught.value.faults] == [1, 2]
    assert harness.engine.compile("a", NOOP) is harness.engine.compile("a", NOOP)


def test_an_outage_of_the_world_is_the_handlers_error(harness: Harness) -> None:
    from picloud.errors import DatabaseUnavailable

    class Broken(MemoryWorld):
        def count_depth(self, app_id: AppId, queue_name: str) -> tuple[int, int]:
            assert app_id == SHOP
            raise DatabaseUnavailable("the database does not answer")

    harness.engine.world = Broken()
    failure = harness.failure("def handle(event, ctx):\n    return queue.depth('q')")
    assert failure == "DatabaseUnavailable: the database does not answer"


def _start(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target)
    thread.start()
    return thread


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5.0
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)
