"""`retry` inside a handler."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from engine_harness import Harness, open_harness

from picloud.engine import Outcome


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness() as harness:
        yield harness


FAILS_TWICE = """
    POLICY = retry.policy(max_attempts={attempts}, backoff="constant", base_ms=1, on_codes={codes})
    def handle(event, ctx):
        tries = []
        def attempt():
            tries.append(1)
            queue.enqueue("q", len(tries))
            if len(tries) < 3:
                raise ValueError("E_BUSY: try " + str(len(tries)))
            return tries
        try:
            return retry.run(POLICY, attempt)
        except ValueError as error:
            return [str(error), len(tries)]
    """


def test_retry_run_eventually_succeeds(harness: Harness) -> None:
    outcome = harness.run(FAILS_TWICE.format(attempts=3, codes=[]))
    assert outcome.value == [1, 1, 1]
    # the failed attempts took their messages back
    assert [message.payload for message in outcome.messages] == ["3"]


def test_retry_run_surfaces_last_error_after_max_attempts(harness: Harness) -> None:
    outcome = harness.run(FAILS_TWICE.format(attempts=2, codes=[]))
    assert outcome.value == ["E_BUSY: try 2", 2]
    assert outcome.messages == ()


@pytest.mark.parametrize(("codes", "tries"), [(["E_BUSY"], 3), (["nope", "ValueError"], 3), (["E_GONE"], 1)])
def test_retry_on_codes_filters_unmatched_errors(harness: Harness, codes: list[str], tries: int) -> None:
    outcome = harness.run(FAILS_TWICE.format(attempts=5, codes=codes))
    assert outcome.value == ([1, 1, 1] if tries == 3 else ["E_BUSY: try 1", 1])


def test_on_codes_makes_a_copy(harness: Harness) -> None:
    source = """
        def handle(event, ctx):
            plain = retry.policy(max_attempts=99)
            narrow = retry.on_codes(plain, ["E1"])
            return [plain.max_attempts, plain.on_codes, narrow.max_attempts, narrow.on_codes, narrow.backoff]
        """
    assert harness.value(source) == [20, [], 20, ["E1"], "exponential"]


def test_an_uncaught_last_error_fails_the_handler_with_its_own_line(harness: Harness) -> None:
    outcome = harness.run(
        """
        def handle(event, ctx):
            def attempt():
                raise KeyError("sku")
            return retry.run(retry.policy(base_ms=1), attempt)
        """
    )
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.line) == ("KeyError", 4)
    assert [frame.function for frame in outcome.error.stack] == ["handle", "attempt"]


def test_an_attempt_may_invoke(harness: Harness) -> None:
    harness.deploy("flaky", "def handle(event, ctx):\n    queue.enqueue('q', event.body)\n    assert event.body > 1")
    outcome = harness.run(
        """
        def handle(event, ctx):
            tries = []
            def attempt():
                tries.append(1)
                invoke("flaky", len(tries))
            retry.run(retry.policy(base_ms=1), attempt)
        """
    )
    assert [message.payload for message in outcome.messages] == ["2"]


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (
            "retry.policy(backoff='fibonacci')",
            "retry: unknown backoff 'fibonacci' (use exponential, linear or constant)",
        ),
        ("retry.run({}, handle)", "retry: run needs a policy from retry.policy(...), not dict"),
        ("retry.run(retry.policy(), 5)", "retry: run needs a function to call, not int"),
        ("retry.on_codes(5, [])", "retry: on_codes needs a policy from retry.policy(...), not int"),
    ],
)
def test_a_wrong_use_is_refused(harness: Harness, call: str, fault: str) -> None:
    assert harness.failure(f"def handle(event, ctx):\n    return {call}") == f"RetryError: {fault}"


def test_no_attempt_is_waited_for_past_the_deadline(harness: Harness) -> None:
    outcome = harness.run(
        """
        def handle(event, ctx):
            def attempt():
                raise KeyError("sku")
            return retry.run(retry.policy(backoff="constant", base_ms=60000, jitter_pct=0), attempt)
        """
    )
    assert outcome.error is not None
    assert outcome.error.type == "RetryError"
    assert outcome.error.message.startswith(
        "retry: no time for attempt 2 of 3: it would start in 60 s and the deadline is"
    )
    assert outcome.error.message.endswith("attempt 1 failed: KeyError: 'sku'")
    assert outcome.duration < 2


def test_a_shutdown_ends_the_wait() -> None:
    outcomes: list[Outcome] = []
    with open_harness(timeout_secs=30.0) as harness:
        source = """
            def handle(event, ctx):
                def attempt():
                    queue.enqueue("progress", 1, immediate=True)
                    raise KeyError("sku")
                return retry.run(retry.policy(backoff="constant", base_ms=20000), attempt)
            """
        thread = threading.Thread(target=lambda: outcomes.append(harness.run(source)))
        started = time.monotonic()
        thread.start()
        while not harness.world.sent and time.monotonic() < started + 5:
            time.sleep(0.001)
        harness.engine.stop_all("the server is shutting down")
        thread.join()
    assert time.monotonic() - started < 5
    (outcome,) = outcomes
    assert outcome.cancelled
    assert outcome.error is not None
    assert outcome.error.message.startswith("the server is shutting down")


def test_a_stop_is_not_retried() -> None:
    source = """
        def handle(event, ctx):
            def spin():
                queue.enqueue("progress", 1, immediate=True)
                while True:
                    pass
            return retry.run(retry.policy(max_attempts=20, base_ms=1), spin)
        """
    with open_harness(timeout_secs=0.1) as harness:
        assert harness.failure(source).startswith("BudgetExceeded: ran past 0.1 s")
        assert len(harness.world.sent) == 1
