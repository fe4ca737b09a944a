"""How fast a consumer empties its queue, and how fast messages come in by the Python API."""

from __future__ import annotations

import time
from functools import partial

import trio
from uuid_utils.compat import uuid7

from picloud.bench.accounting import CpuAccount
from picloud.bench.feeding import PATIENCE, empty, fill, make_messages, poll, send, vacuum
from picloud.bench.measure import Figure
from picloud.bench.node import BenchNode
from picloud.db.triggers import QueueTriggerSettings

SENDERS = 2


async def drain(node: BenchNode, script: str, source: str, count: int, *, concurrency: int = 1) -> Figure:
    """Return messages per second, from the first handler's start to the last acknowledgement's commit.

    Also the microseconds of CPU for each message, by where they went.
    """
    queue = f"drain-{uuid7()}"
    settings = QueueTriggerSettings(enabled=False, concurrency=concurrency)
    trigger = await node.bind(script, source, queue, settings)
    await fill(node, queue, count)
    node.expect_handlers()
    account = await CpuAccount.open(node)
    await node.switch(trigger, on=True)
    with trio.fail_after(PATIENCE):
        # looking costs the node time
        await poll(lambda: node.processed(queue) >= count, interval=0.005)
    assert node.first_handler_at is not None
    seconds = time.perf_counter() - node.first_handler_at
    spent = account.per_message(count)
    await node.switch(trigger, on=False)
    await vacuum(node)
    return Figure(count / seconds, spent)


async def drain_unrecorded(node: BenchNode, script: str, source: str, count: int) -> Figure:
    """Return the same where executions are not recorded: the difference is what recording costs."""
    node.records = False
    try:
        return await drain(node, script, source, count)
    finally:
        node.records = True


async def enqueue(node: BenchNode, count: int, *, batch: int, senders: int) -> float:
    """Return messages per second committed in batches of `batch`, by so many senders with a connection each."""
    queue = f"enqueue-{uuid7()}"
    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for sender in range(senders):
            nursery.start_soon(partial(_send, node, queue, range(sender * batch, count, senders * batch), count, batch))
    seconds = time.perf_counter() - started
    await empty(node, queue)
    return count / seconds


async def _send(node: BenchNode, queue: str, starts: range, count: int, batch: int) -> None:
    async with node.parts.pool.connection() as conn:
        for start in starts:
            await send(conn, node.app.id, make_messages(queue, range(start, min(start + batch, count))))
