"""Effects are all or nothing."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from engine_harness import BANK, SHOP, Harness, open_harness

from picloud.engine.effects import UnitOfWork
from picloud.types import MessageId, NewMessage


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness() as harness:
        yield harness


def test_a_message_is_kept_for_the_commit(harness: Harness) -> None:
    outcome = harness.run(
        "def handle(event, ctx):\n    return queue.enqueue('emails', {'to': 'ann'}, delay='30s', priority=5, "
        "max_attempts=7, dedup_key='k')"
    )
    (message,) = outcome.messages
    assert str(message.id) == outcome.value
    assert message.id.version == 7
    assert message == NewMessage(
        id=message.id,
        queue_name="emails",
        payload='{"to":"ann"}',
        delay=30.0,
        priority=5,
        max_attempts=7,
        dedup_key="k",
        trigger_depth=0,
        root_execution_id=outcome.execution_id,
    )
    assert harness.world.sent == []


def test_a_payload_is_encoded_when_it_is_sent(harness: Harness) -> None:
    outcome = harness.run(
        """
        def handle(event, ctx):
            items = [1]
            queue.enqueue("q", items)
            items.append(2)
            queue.enqueue("q", items)
        """
    )
    assert [message.payload for message in outcome.messages] == ["[1]", "[1,2]"]


def test_a_queue_is_no_recursion_but_keeps_its_root(harness: Harness) -> None:
    harness.deploy("callee", "def handle(event, ctx):\n    queue.enqueue('q', ctx.trigger_depth)")
    outcome = harness.run("def handle(event, ctx):\n    invoke('callee')", trigger_depth=2)
    (message,) = outcome.messages
    assert message.payload == "3"
    assert message.trigger_depth == 2
    assert message.root_execution_id == outcome.execution_id


@pytest.mark.parametrize("end", ["raise ValueError('no')", "return {'f': lambda: 1}", "while True: pass"])
def test_a_failed_execution_leaves_nothing(end: str) -> None:
    with open_harness(timeout_secs=0.1) as harness:
        outcome = harness.run(f"def handle(event, ctx):\n    queue.enqueue('q', 1)\n    {end}")
    assert not outcome.ok
    assert outcome.messages == ()


def test_immediate_messages_survive_a_failure(harness: Harness) -> None:
    outcome = harness.run(
        """
        def handle(event, ctx):
            queue.enqueue("progress", 1, immediate=True)
            queue.enqueue("results", 1)
            raise ValueError("no")
        """
    )
    assert outcome.messages == ()
    assert [(app, message.queue_name) for app, message in harness.world.sent] == [(SHOP, "progress")]


def test_depth_counts_what_the_handler_has_sent(harness: Harness) -> None:
    harness.world.counts[SHOP, "q"] = (5, 3)
    value = harness.value(
        """
        def handle(event, ctx):
            before = [queue.depth("q"), queue.depth_pending("q")]
            queue.enqueue("q", 1)
            queue.enqueue("q", 1, delay=60)
            queue.enqueue("q", 1, deliver_after="2020-01-01T00:00:00Z")
            queue.enqueue("other", 1)
            return [before, [queue.depth("q"), queue.depth_pending("q")], queue.depth("other")]
        """
    )
    assert value == [[5, 3], [8, 5], 1]


def test_enqueue_many_sends_in_order(harness: Harness) -> None:
    outcome = harness.run(
        "def handle(event, ctx):\n    return queue.enqueue_many('q', [{'n': 0}, 1, None], priority=2)"
    )
    assert [json.loads(message.payload) for message in outcome.messages] == [{"n": 0}, 1, None]
    assert [str(message.id) for message in outcome.messages] == outcome.value
    assert {message.priority for message in outcome.messages} == {2}


def test_enqueue_many_sends_all_or_none(harness: Harness) -> None:
    outcome = harness.run(
        """
        def handle(event, ctx):
            try:
                queue.enqueue_many("q", [1, "a\\0b"])
            except Exception as error:
                return str(error)
        """
    )
    assert outcome.value == "queue: payloads[1] has a NUL character at payloads[1]"
    assert outcome.messages == ()


def test_the_second_message_of_a_dedup_key_is_the_first(harness: Harness) -> None:
    outcome = harness.run(
        """
        def handle(event, ctx):
            return [queue.enqueue("q", 1, dedup_key="k"), queue.enqueue("q", 2, dedup_key="k"),
                    queue.enqueue("other", 3, dedup_key="k"), queue.depth("q")]
        """
    )
    first, second, other, depth = outcome.value
    assert (first == second, first == other, depth) == (True, False, 1)
    assert [message.payload for message in outcome.messages] == ["1", "3"]


def test_a_dedup_key_is_free_again_when_its_message_was_taken_back() -> None:
    unit = UnitOfWork(10)
    mark = unit.mark()
    unit.record(_message(1, "k"))
    unit.take_back(mark)
    unit.record(_message(2))
    assert unit.record(_message(3, "k")) == _id(3)
    assert [message.id for message in unit.effects().messages] == [_id(2), _id(3)]


def test_a_message_for_later_is_not_due() -> None:
    unit = UnitOfWork(10)
    unit.record(_message(1, deliver_after=datetime(2999, 1, 1, tzinfo=UTC)))
    assert unit.count_waiting("q") == (1, 0)


def test_effects_have_a_limit_that_cannot_be_caught() -> None:
    source = """
        def handle(event, ctx):
            for n in range(event.payload):
                try:
                    queue.enqueue("q", n, immediate=n % 2 == 0)
                except Exception:
                    pass
        """
    with open_harness(max_effects=100) as harness:
        assert harness.run(source, 100).ok
        failed = harness.run(source, 101)
    assert failed.error is not None
    assert failed.error.type == "BudgetExceeded"
    assert failed.error.message == "asked for more than 100 effects (line 5)"
    assert failed.messages == ()


def test_a_failed_attempt_takes_only_its_own_effects_back(harness: Harness) -> None:
    harness.deploy(
        "callee", "def handle(event, ctx):\n    queue.enqueue('q', event.body)\n    assert event.body != 2, 'two'"
    )
    outcome = harness.run(
        """
        def handle(event, ctx):
            for n in [1, 2, 3]:
                try:
                    invoke("callee", n)
                except AssertionError:
                    queue.enqueue("q", "failed")
        """
    )
    assert [message.payload for message in outcome.messages] == ["1", '"failed"', "3"]


FLAKY = """
    def handle(event, ctx):
        for at, fails in enumerate(event.payload):
            queue.enqueue("q", [event.attempt, at])
            if fails:
                raise ValueError("at random")
    """


def test_random_failures_leave_exactly_the_effects_of_the_successes(harness: Harness) -> None:
    rng = random.Random(11)
    jobs = [harness.job(FLAKY, [rng.random() < 0.1 for _ in range(rng.randrange(1, 8))]) for _ in range(1000)]
    outcomes = harness.engine.run_slice(jobs, slice_secs=60.0)
    plans = [job.event.payload for job in jobs]  # type: ignore[attr-defined]
    assert [outcome.ok for outcome in outcomes] == [not any(plan) for plan in plans]
    assert [[json.loads(message.payload) for message in outcome.messages] for outcome in outcomes] == [
        [] if any(plan) else [[1, at] for at in range(len(plan))] for plan in plans
    ]
    assert 100 < sum(outcome.ok for outcome in outcomes) < 900


@pytest.mark.parametrize("order", [(SHOP, BANK), (BANK, SHOP)])
def test_two_apps_share_nothing(harness: Harness, order: tuple[object, object]) -> None:
    source = """
        seen = []
        class Box:
            items = []
        def remember(x, kept=[]):
            kept.append(x)
            return kept
        def handle(event, ctx):
            seen.append(ctx.app)
            Box.items.append(ctx.app)
            queue.enqueue("q", ctx.app)
            return [seen, Box.items, remember(ctx.app), queue.depth("q")]
        """
    for app in order:
        name = "shop" if app is SHOP else "bank"
        assert harness.value(source, app=app) == [[name], [name], [name], 1]


def test_two_apps_share_nothing_in_threads(harness: Harness) -> None:
    source = """
        seen = []
        def handle(event, ctx):
            for n in range(20):
                seen.append(ctx.app)
                queue.enqueue("q", ctx.app)
            return [sorted(set(seen)), len(seen), queue.depth("q")]
        """
    results: list[tuple[str, object, set[str]]] = []

    def run(app: object, name: str) -> None:
        for _ in range(30):
            outcome = harness.run(source, app=app)
            results.append((name, outcome.value, {message.payload for message in outcome.messages}))

    threads = [threading.Thread(target=run, args=args) for args in [(SHOP, "shop"), (BANK, "bank")] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 120
    assert all(value == [[name], 20, 20] and sent == {f'"{name}"'} for name, value, sent in results)


def _id(number: int) -> MessageId:
    return MessageId(UUID(int=number))


def _message(number: int, dedup_key: str | None = None, deliver_after: datetime | None = None) -> NewMessage:
    return NewMessage(_id(number), "q", "null", dedup_key=dedup_key, deliver_after=deliver_after)
