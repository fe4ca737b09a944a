"""The queue suite: how fast messages come in and go out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import trio
from uuid_utils.compat import uuid7

from picloud.actors.wakes import QueueKey
from picloud.bench.measure import Case
from picloud.bench.node import BenchNode
from picloud.db.messages import insert_messages, vacuum_messages
from picloud.types import MessageId, NewMessage

NOOP = "def handle(event, ctx):\n    return None\n"
ENQUEUE_ONE = """\
from picloud.sdk import queue

def handle(event, ctx):
    queue.enqueue("bench-sink", event.payload)
"""
PATIENCE = 300.0
"""Seconds after which a case that makes no end is an error."""


def queue_cases(node: BenchNode, *, messages: int) -> list[Case]:
    """Return the cases of the suite, each on queues of its own."""
    params = {"messages": messages}
    singles, few = min(messages, 2000), min(messages, 100)
    return [
        Case("drain-noop", "msg/s", partial(drain, node, "noop", NOOP, messages), params),
        Case("drain-enqueue-one", "msg/s", partial(drain, node, "enqueue-one", ENQUEUE_ONE, messages), params),
        Case("enqueue-single", "msg/s", partial(enqueue, node, singles, 1), {"messages": singles}),
        Case("enqueue-batch", "msg/s", partial(enqueue, node, messages, 1000), {**params, "batch": 1000}),
        Case("latency-idle", "ms", partial(idle_latency, node, few, 50), {"messages": few, "percentile": 50}),
        Case("latency-idle-p99", "ms", partial(idle_latency, node, few, 99), {"messages": few, "percentile": 99}),
    ]


async def drain(node: BenchNode, script: str, source: str, count: int) -> float:
    """Return messages per second, from the consumer's start to the last acknowledgement's commit."""
    queue = f"drain-{uuid7()}"
    trigger = await node.bind(script, source, queue, enabled=False)
    await fill(node, queue, count)
    started = time.perf_counter()
    await node.switch(trigger, on=True)
    with trio.fail_after(PATIENCE):
        await poll(lambda: node.processed(queue) >= count)
    seconds = time.perf_counter() - started
    await node.switch(trigger, on=False)
    await vacuum(node)
    return count / seconds


async def enqueue(node: BenchNode, count: int, batch: int) -> float:
    """Return messages per second committed in batches of `batch`, one after the other."""
    queue = f"enqueue-{uuid7()}"
    started = time.perf_counter()
    await fill(node, queue, count, batch=batch)
    seconds = time.perf_counter() - started
    await vacuum(node)
    return count / seconds


async def idle_latency(node: BenchNode, count: int, percentile: int) -> float:
    """Return milliseconds from the commit of a message to the start of its handler, the queue being idle."""
    queue = f"idle-{uuid7()}"
    trigger = await node.bind("idle", NOOP, queue, enabled=True)
    waits = []
    with trio.fail_after(PATIENCE):
        await poll(lambda: node.is_running(queue))
        for number in range(count):
            await trio.sleep(0.02)
            await fill(node, queue, 1)
            committed = time.perf_counter()
            await poll(lambda: node.processed(queue) > number)  # noqa: B023
            waits.append(max(0.0, node.handler_started_at - committed))
    await node.switch(trigger, on=False)
    return sorted(waits)[min(count - 1, count * percentile // 100)] * 1000


async def poll(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; the figures of an actor send no event."""
    while not condition():  # noqa: ASYNC110
        await trio.sleep(0.001)


async def fill(node: BenchNode, queue: str, count: int, *, batch: int = 1000) -> None:
    """Commit `count` messages."""
    async with node.parts.pool.connection() as conn:
        for start in range(0, count, batch):
            messages = _messages(queue, range(start, min(start + batch, count)))
            await insert_messages(conn, node.app.id, messages)
            node.parts.wakes.sent(QueueKey(node.app.id, queue), 0.0)


async def vacuum(node: BenchNode) -> None:
    """Clean up after a case, so that the next one does not pay for it."""
    async with node.parts.pool.connection() as conn:
        await vacuum_messages(conn)


def _messages(queue: str, numbers: Sequence[int]) -> list[NewMessage]:
    return [NewMessage(MessageId(uuid7()), queue, f'{{"n":{number}}}') for number in numbers]
