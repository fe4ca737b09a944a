"""The consumer's pipeline: claim, run, settle, drain; outages and bugs between any two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import trio
from actor_probes import MemoryQueue, handle_all, make_consumer, make_message, outcome
from trio.testing import MockClock

from picloud.actors.lane import Ran
from picloud.actors.runtime import WakeMailbox
from picloud.db.messages import Settlement
from picloud.types import ClaimToken, Message, ScriptError


async def drain_when(consumer, condition, *, limit: float = 60.0) -> None:  # type: ignore[no-untyped-def]
    """Run the consumer until the condition holds, then drain it."""
    with trio.fail_after(limit):
        async with trio.open_nursery() as nursery:
            await nursery.start(consumer.run)
            while not condition():
                await trio.sleep(0.01)
            consumer.drain()


async def test_everything_is_handled_and_settled_once(autojump_clock: MockClock) -> None:
    store = MemoryQueue(*range(500))
    consumer = make_consumer(store, handle_all)
    await drain_when(consumer, lambda: len(store.acked) == 500)
    assert store.acked == list(range(500))
    assert store.claimed == {}
    assert consumer.details()["processed"] == 500


async def test_batch_grows_for_fast_handlers_and_stays_one_for_slow_ones(autojump_clock: MockClock) -> None:
    async def slow(messages: Sequence[Message]) -> Ran:
        await trio.sleep(1.0 * len(messages))
        return Ran([outcome(m) for m in messages], 1.0 * len(messages))

    fast, lazy = MemoryQueue(*range(200)), MemoryQueue(*range(5))
    await drain_when(make_consumer(fast, handle_all), lambda: len(fast.acked) == 200)
    await drain_when(make_consumer(lazy, slow), lambda: len(lazy.acked) == 5)
    assert max(limit for _, limit in fast.calls) == 25  # half a slice of 50 ms, a millisecond each
    assert {limit for _, limit in lazy.calls} <= {0, 1}


async def test_slow_handlers_batch_is_not_prefetched(autojump_clock: MockClock) -> None:
    store = MemoryQueue(*range(3))
    held = []

    async def slow(messages: Sequence[Message]) -> Ran:
        await trio.sleep(1.0)
        held.append(len(store.claimed))
        return Ran([outcome(m) for m in messages], 1.0)

    await drain_when(make_consumer(store, slow), lambda: len(store.acked) == 3)
    assert held == [1, 1, 1]


async def test_what_a_slice_left_over_runs_next_under_its_own_token(autojump_clock: MockClock) -> None:
    store = MemoryQueue(*range(20))
    order = []

    async def half(messages: Sequence[Message]) -> Ran:
        await trio.sleep(0.001)
        done = messages[: max(1, len(messages) // 2)]
        order.extend(m.payload for m in done)
        return Ran([outcome(m) for m in done], 0.0001)

    await drain_when(make_consumer(store, half), lambda: len(store.acked) == 20)
    assert order == list(range(20))
    assert store.given_up == []


async def test_failures_are_retried_with_backoff_and_die_when_no_attempt_is_left(autojump_clock: MockClock) -> None:
    store = MemoryQueue("ok", "bad", "last")
    store.ready[2] = Message(*[*[getattr(store.ready[2], n) for n in ("id", "queue_name", "payload")], 3, 3, 0,
                               store.ready[2].enqueued_at, store.ready[2].deliver_after, 0, None])  # fmt: skip
    retries = []

    async def judge(messages: Sequence[Message]) -> Ran:
        error = ScriptError("ValueError", "no", 1)
        return Ran([outcome(m, error=None if m.payload == "ok" else error) for m in messages], 0.001)

    consumer = make_consumer(store, judge)
    consumer._on_retry = retries.append
    await drain_when(consumer, lambda: not store.ready and not store.claimed)
    assert store.acked == ["ok"]
    assert consumer.details()["failed"] == 2
    assert consumer.details()["dead_lettered"] == 1
    assert len(retries) == 1
    assert 0.9 <= retries[0] <= 1.1


async def test_outage_keeps_what_is_to_be_settled_and_settles_it_once(autojump_clock: MockClock) -> None:
    store = MemoryQueue(*range(10))
    consumer = make_consumer(store, handle_all)

    async def break_it() -> None:
        while not store.acked:
            await trio.sleep(0.001)
        store.outages = 5

    async with trio.open_nursery() as nursery:
        nursery.start_soon(break_it)
        await drain_when(consumer, lambda: len(store.acked) == 10 and consumer.health.current.state == "ok")
    assert store.acked == list(range(10))


async def test_lost_answer_of_a_settlement_counts_nothing_twice(autojump_clock: MockClock) -> None:
    store = MemoryQueue(1)
    consumer = make_consumer(store, handle_all)
    async with trio.open_nursery() as nursery:
        await nursery.start(consumer.run)
        while not store.claimed:
            await trio.sleep(0.0001)
        store.lose_answers = 1
        while store.claimed:
            await trio.sleep(0.01)
        await trio.sleep(10)
        consumer.drain()
    assert store.acked == [1]


async def test_outage_is_shown_and_passes(autojump_clock: MockClock) -> None:
    store = MemoryQueue(1)
    store.outages = 3
    consumer = make_consumer(store, handle_all)
    states = []

    async def watch() -> None:
        while not store.acked:
            states.append(consumer.health.current.state)
            await trio.sleep(0.01)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await drain_when(consumer, lambda: bool(store.acked))
    assert "degraded" in states
    assert consumer.health.current.state == "ok"


async def test_drain_finishes_what_runs_and_gives_the_rest_back_untried(autojump_clock: MockClock) -> None:
    store = MemoryQueue(*range(60))
    running = trio.Event()

    async def handle(messages: Sequence[Message]) -> Ran:
        if len(messages) > 4:
            running.set()
            await trio.sleep(5)
            return Ran([outcome(messages[0])], 5.0)
        return Ran([outcome(m) for m in messages], 0.0001)

    consumer = make_consumer(store, handle)
    async with trio.open_nursery() as nursery:
        await nursery.start(consumer.run)
        await running.wait()
        consumer.drain()
    assert store.claimed == {}
    assert sorted([*store.acked, *[m.payload for m in store.ready]]) == list(range(60))


# Known failure 6: a draining process claims again what the new one released, or the other way round.
async def test_draining_consumer_claims_nothing_more_and_the_next_one_does_the_rest(autojump_clock: MockClock) -> None:
    store = MemoryQueue(*range(40))
    handled: list[object] = []

    async def handle(messages: Sequence[Message]) -> Ran:
        await trio.sleep(0.2)
        handled.extend(m.payload for m in messages[:1])
        return Ran([outcome(messages[0])], 0.001)

    old, new = make_consumer(store, handle), make_consumer(store, handle)
    async with trio.open_nursery() as nursery:
        await nursery.start(old.run)
        while len(store.claimed) < 4:
            await trio.sleep(0.01)
        old.drain()
        asked = len(store.calls)
        while old.details()["in_flight"]:
            await trio.sleep(0.01)
        assert [limit for _, limit in store.calls[asked:] if limit] == []
        assert store.claimed == {}
        assert store.ready
        await nursery.start(new.run)
        while store.ready or store.claimed:
            await trio.sleep(0.1)
        new.drain()
    assert sorted(store.acked) == list(range(40))
    assert sorted(handled) == list(range(40))  # type: ignore[type-var]


# Known failure 8: a stable consumer id lets a stale attempt finish or extend its replacement.
async def test_every_claim_has_a_token_of_its_own(autojump_clock: MockClock) -> None:
    store = MemoryQueue(*range(300))
    tokens: list[object] = []
    pull = store.pull

    async def note(settle: Settlement, token: ClaimToken, *rest: Any) -> Any:
        tokens.append(token)
        return await pull(settle, token, *rest)

    store.pull = note  # type: ignore[method-assign]
    consumer = make_consumer(store, handle_all)
    await drain_when(consumer, lambda: len(store.acked) == 150)
    await drain_when(consumer, lambda: len(store.acked) == 300)
    assert len(tokens) > 5
    assert len(set(tokens)) == len(tokens)


async def test_cancelled_before_the_thread_started_gives_the_batch_back(autojump_clock: MockClock) -> None:
    store = MemoryQueue(1)

    async def never(messages: Sequence[Message]) -> Ran:
        await trio.sleep_forever()
        raise AssertionError

    consumer = make_consumer(store, never)
    async with trio.open_nursery() as nursery:
        await nursery.start(consumer.run)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert store.claimed == {}
    assert [m.payload for m in store.ready] == [1]


async def test_outcomes_cancelled_by_a_shutdown_do_not_count_as_attempts(autojump_clock: MockClock) -> None:
    store = MemoryQueue(1)
    consumer = make_consumer(store, lambda messages: stop(messages))

    async def stop(messages: Sequence[Message]) -> Ran:
        await trio.sleep(0.01)
        consumer.drain()
        return Ran([outcome(m, cancelled=True) for m in messages], 0.01)

    await consumer.run()
    assert [m.payload for m in store.ready] == [1]
    assert consumer.details()["failed"] == 0


async def test_bug_ends_the_consumer_and_what_was_done_before_is_settled(autojump_clock: MockClock) -> None:
    store = MemoryQueue(*range(3))

    async def buggy(messages: Sequence[Message]) -> Ran:
        await trio.sleep(0.001)
        if messages[0].payload:
            raise RuntimeError("a bug")
        return Ran([outcome(m) for m in messages], 0.001)

    with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="a bug"), flatten_subgroups=True):
        await make_consumer(store, buggy).run()
    assert store.acked == [0]


async def test_leases_are_extended_at_a_third_while_a_handler_runs(autojump_clock: MockClock) -> None:
    store = MemoryQueue(1)

    async def long(messages: Sequence[Message]) -> Ran:
        await trio.sleep(90)
        return Ran([outcome(m) for m in messages], 90.0)

    began = trio.current_time()
    await drain_when(make_consumer(store, long), lambda: bool(store.acked), limit=1000)
    assert [round(at - began) for at in store.extended] == [10, 20, 30, 40, 50, 60, 70, 80]


async def test_idle_consumer_asks_only_when_it_is_woken(autojump_clock: MockClock) -> None:
    store, wake = MemoryQueue(), WakeMailbox()
    consumer = make_consumer(store, handle_all, wake)
    async with trio.open_nursery() as nursery:
        await nursery.start(consumer.run)
        await trio.sleep(3600)
        asked = len(store.calls)
        wake.wake()
        await trio.sleep(3600)
        assert asked <= 2
        assert 1 <= len(store.calls) - asked <= 2
        consumer.drain()


async def test_single_messages_of_a_fast_queue_cost_one_claim_and_one_settlement(autojump_clock: MockClock) -> None:
    store, wake = MemoryQueue(*range(1000)), WakeMailbox()
    consumer = make_consumer(store, handle_all, wake)
    async with trio.open_nursery() as nursery:
        await nursery.start(consumer.run)
        await trio.sleep(60)
        assert (len(store.acked), consumer.details()["batch_size"]) == (1000, 25)
        store.calls.clear()
        for payload in range(10):
            store.ready.append(make_message(payload))
            wake.wake()
            await trio.sleep(60)
        assert len(store.acked) == 1010
        # and now and then a look at what lies below the low-water marks
        assert len(store.calls) <= 3 * 10
        consumer.drain()


async def test_concurrent_lanes_run_batches_at_once(autojump_clock: MockClock) -> None:
    store = MemoryQueue(*range(12))
    running = highest = 0

    async def slow(messages: Sequence[Message]) -> Ran:
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        await trio.sleep(1.0)
        running -= 1
        return Ran([outcome(m) for m in messages], 1.0)

    await drain_when(make_consumer(store, slow, concurrency=3), lambda: len(store.acked) == 12)
    assert highest == 3
    assert sorted(store.acked) == list(range(12))


async def test_message_that_comes_while_a_lane_is_held_starts_in_another_at_once(autojump_clock: MockClock) -> None:
    store, wake = MemoryQueue(), WakeMailbox()
    waits: list[float] = []
    sent = [0.0] * 9

    async def slow(messages: Sequence[Message]) -> Ran:
        (message,) = messages
        waits.append(trio.current_time() - sent[message.payload])  # type: ignore[index, arg-type]
        await trio.sleep(60.0)
        return Ran([outcome(m) for m in messages], 60.0)

    consumer = make_consumer(store, slow, wake, concurrency=3)
    async with trio.open_nursery() as nursery:
        await nursery.start(consumer.run)
        for number in range(9):
            sent[number] = trio.current_time()
            store.ready.append(make_message(number))
            wake.wake()
            # two at once, then one after the other, then again with every lane held before
            await trio.sleep([0.0, 1.0, 100.0][number % 3])
        await trio.sleep(100.0)
        consumer.drain()
    assert max(waits) < 1.0
    assert sorted(store.acked) == list(range(9))


async def test_wake_while_every_lane_is_held_is_kept(autojump_clock: MockClock) -> None:
    store, wake = MemoryQueue(0, 1), WakeMailbox()

    async def slow(messages: Sequence[Message]) -> Ran:
        await trio.sleep(10.0)
        return Ran([outcome(m) for m in messages], 10.0)

    consumer = make_consumer(store, slow, wake, concurrency=2)
    async with trio.open_nursery() as nursery:
        await nursery.start(consumer.run)
        await trio.sleep(5.0)
        store.ready += [make_message(2), make_message(3)]
        wake.wake()
        await trio.sleep(30.0)
        assert sorted(store.acked) == [0, 1, 2, 3]
        asked = len(store.calls)
        await trio.sleep(3600)
        assert len(store.calls) == asked
        consumer.drain()


async def test_restarted_consumer_works_again(autojump_clock: MockClock) -> None:
    store = MemoryQueue(1)
    consumer = make_consumer(store, handle_all)
    await drain_when(consumer, lambda: store.acked == [1])
    store.ready = MemoryQueue(2).ready
    await drain_when(consumer, lambda: store.acked == [1, 2])
