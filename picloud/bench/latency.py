"""How soon a handler starts: of an idle queue, and beside another app's flood."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import trio
from uuid_utils.compat import uuid7

from picloud.actors.wakes import QueueKey, QueueWakes
from picloud.actors.wakeup import Wakeup, WakeupConfig
from picloud.bench.feeding import NOOP, PATIENCE, SLEEP_50MS, empty, fill, make_messages, poll, send
from picloud.bench.measure import Figure
from picloud.bench.node import BenchNode
from picloud.db.apps import insert_app
from picloud.db.connection import Connection
from picloud.db.messages import DueQueue
from picloud.db.triggers import QueueTriggerSettings

PAUSE = 0.02
"""Seconds between two messages: the queue is idle when one comes."""


async def idle_latency(node: BenchNode, count: int, *, from_other_node: bool) -> Figure:
    """Return milliseconds from the commit of a message on another connection to the start of its handler.

    The median, and `p99`. From another node the message is told by NOTIFY, through that node's own wake-ups.
    """
    queue = f"idle-{uuid7()}"
    trigger = await node.bind("idle", NOOP, queue, QueueTriggerSettings())
    async with _sender(node, from_other_node) as (conn, wakes):
        with trio.fail_after(PATIENCE):
            await poll(lambda: node.is_running(queue))
            waits = [await _wait_for_handler(node, conn, wakes, queue) for _ in range(count)]
    await node.switch(trigger, on=False)
    return Figure(statistics.median(waits), {"p99": percentile(waits, 99)})


async def fairness(node: BenchNode, flood: int, count: int) -> Figure:
    """Return milliseconds until app B's single message starts while app A's slow ones hold every thread: the worst."""
    gate = node.parts.gate
    slow, single = f"flood-{uuid7()}", f"single-{uuid7()}"
    async with node.parts.pool.connection() as conn:
        other = node.beside(await insert_app(conn, f"bench-{uuid7()}"))
    flooding = await node.bind("slow", SLEEP_50MS, slow, QueueTriggerSettings(concurrency=2 * int(gate.total_tokens)))
    trigger = await other.bind("single", NOOP, single, QueueTriggerSettings())
    await fill(node, slow, flood)
    async with _sender(other, False) as (conn, wakes):
        with trio.fail_after(PATIENCE):
            await poll(lambda: other.is_running(single) and (gate.available_tokens == 0 or node.processed(slow) > 0))
            waits = [await _wait_for_handler(other, conn, wakes, single) for _ in range(count)]
    await node.switch(flooding, on=False)
    await other.switch(trigger, on=False)
    with trio.fail_after(PATIENCE):
        await poll(lambda: not node.is_running(slow))
    await empty(node, slow)
    return Figure(max(waits), {"p50": statistics.median(waits)})


def percentile(values: list[float], percent: int) -> float:
    """Return the value that so many percent are not above."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


@asynccontextmanager
async def _sender(node: BenchNode, from_other_node: bool) -> AsyncIterator[tuple[Connection, QueueWakes]]:
    conn = await node.parts.connect()
    try:
        if not from_other_node:
            yield conn, node.parts.wakes
            return
        wakes = QueueWakes()
        wakeup = Wakeup(wakes, node.parts.connect, _nothing_due, WakeupConfig(), uuid7())
        async with trio.open_nursery() as nursery:
            await nursery.start(wakeup.run)
            yield conn, wakes
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await conn.close()


async def _nothing_due() -> list[DueQueue]:
    return []


async def _wait_for_handler(node: BenchNode, conn: Connection, wakes: QueueWakes, queue: str) -> float:
    """Commit one message; return milliseconds until its handler started."""
    before = node.processed(queue)
    messages = make_messages(queue, range(1))
    await trio.sleep(PAUSE)
    node.started_at.pop(queue, None)
    await send(conn, node.app.id, messages)
    committed = time.perf_counter()
    wakes.sent(QueueKey(node.app.id, queue), 0.0)
    await poll(partial(_is_settled, node, queue, before), interval=0.003)
    return max(0.0, node.started_at[queue] - committed) * 1000


def _is_settled(node: BenchNode, queue: str, before: int) -> bool:
    return queue in node.started_at and node.processed(queue) > before
