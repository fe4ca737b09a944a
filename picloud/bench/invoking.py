"""How fast the outbox delivers what `invoke_async` asks for."""

from __future__ import annotations

import time

import trio
from uuid_utils.compat import uuid7

from picloud.bench.feeding import NOOP, PATIENCE, poll
from picloud.bench.node import BenchNode
from picloud.db.outbox import insert_invocations, vacuum_deliveries
from picloud.db.scripts import put_script
from picloud.types import NewInvocation

OUTBOX = "/picloud/services/outbox"
BATCH = 5000


async def invoke_async(node: BenchNode, count: int) -> float:
    """Return rows per second, from the first handler's start to the last acknowledgement's commit."""
    delivered = _count_delivered(node)
    node.expect_handlers()
    async with node.parts.pool.transaction() as conn:
        # seen by nobody before all of them are there
        script = (await put_script(conn, node.app.id, "invoked", NOOP)).script
        for start in range(0, count, BATCH):
            rows = [
                NewInvocation(uuid7(), script.id, f'{{"body": {{"n": {number}}}, "caller": "bench"}}', 1)
                for number in range(start, min(start + BATCH, count))
            ]
            await insert_invocations(conn, node.app.id, rows)
    node.parts.wakes.changed("scripts")
    node.parts.wakes.changed("outbox")
    with trio.fail_after(PATIENCE):
        # looking costs the node time
        await poll(lambda: _count_delivered(node) - delivered >= count, interval=0.005)
    assert node.first_handler_at is not None
    seconds = time.perf_counter() - node.first_handler_at
    async with node.parts.pool.connection() as conn:
        await vacuum_deliveries(conn)
    return count / seconds


def _count_delivered(node: BenchNode) -> int:
    shown = node.tree.snapshot(OUTBOX, 0)
    assert shown is not None
    return int(shown["details"]["delivered"])
