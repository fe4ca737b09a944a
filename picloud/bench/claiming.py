"""What a claim costs: with a large backlog, and with dead rows that an open snapshot keeps."""

from __future__ import annotations

import statistics
import time
from functools import partial

import trio
from psycopg import IsolationLevel
from uuid_utils.compat import uuid7

from picloud.bench.feeding import PATIENCE, empty, make_messages, poll, send
from picloud.bench.measure import Figure
from picloud.bench.node import BenchNode
from picloud.bench.side import side_database
from picloud.db.apps import insert_app
from picloud.db.connection import Connection, connect
from picloud.db.messages import LowWater, Settlement, pull_messages, vacuum_messages
from picloud.db.migrate import migrate
from picloud.db.sqlfile import load
from picloud.types import AppId, ClaimToken

SMALL = 1000
CLAIMS = 50
BATCH = 10
FLOOD_QUEUE = "pinned"
FLOOD_BATCH = 100
FLOOD_AHEAD = 2000
"""Messages that wait at most while the snapshot is open."""

_sql = load("bench")


async def claim_backlog(dsn: str, backlog: int) -> Figure:
    """Return the median milliseconds of a claim with `backlog` ready, as many delayed before them, a tenth claimed.

    Each database is filled once and both are claimed from in turn; `growth` compares with a thousand ready ones.
    """
    async with side_database(dsn) as side:
        large = await connect(side)
        small = await connect(dsn)
        try:
            await migrate(large)
            large_app = (await insert_app(large, "large")).id
            small_app = (await insert_app(small, f"bench-{uuid7()}")).id
            await _fill(large, large_app, backlog)
            await large.execute(_sql.fill_delayed, {"app_id": large_app, "queue_name": "backlog", "count": backlog})
            await large.execute(
                _sql.fill_claimed, {"app_id": large_app, "queue_name": "backlog", "count": max(1, backlog // 10)}
            )
            await _fill(small, small_app, SMALL)
            for conn in (large, small):
                await vacuum_messages(conn)
            for conn, app in ((large, large_app), (small, small_app)):
                await _claim(conn, app, BATCH)
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(3):
                ours += await _claim(large, large_app, CLAIMS)
                theirs += await _claim(small, small_app, CLAIMS)
                await _fill(small, small_app, CLAIMS * BATCH)
            await small.execute(_sql.empty_queue, {"app_id": small_app, "queue_name": "backlog"})
        finally:
            with trio.CancelScope(shield=True):
                await large.close()
                await small.close()
    median, small_median = statistics.median(ours), statistics.median(theirs)
    return Figure(median, {"small": small_median}, {"growth": median / small_median})


async def _fill(conn: Connection, app_id: AppId, count: int) -> None:
    await conn.execute(_sql.fill_ready, {"app_id": app_id, "queue_name": "backlog", "count": count})


async def _claim(conn: Connection, app_id: AppId, times: int) -> list[float]:
    """Pull as a consumer does, each acknowledging the one before; return the milliseconds of each."""
    low_water, settle, waits = LowWater(), Settlement(ClaimToken(uuid7())), []
    for _ in range(times):
        token = ClaimToken(uuid7())
        began = time.perf_counter()
        pulled = await pull_messages(
            conn, app_id, "backlog", settle=settle, claim_token=token, limit=BATCH, low_water=low_water
        )
        waits.append((time.perf_counter() - began) * 1000)
        low_water.advance(pulled.messages)
        settle = Settlement(token, [message.id for message in pulled.messages])
    return waits


async def claim_pinned(node: BenchNode, queue: str, seconds: float) -> Figure:
    """Return how much of its rate a consumer keeps while a snapshot is open: the last fifth of the time to the first.

    Messages come in as fast as they are handled; none of the rows that leave can be cleared away.
    """
    counts: list[int] = []
    pin = await node.parts.connect()
    try:
        await pin.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        async with pin.transaction(), trio.open_nursery() as nursery:
            await pin.execute(_sql.pin_snapshot)
            nursery.start_soon(partial(_flood, node, queue))
            with trio.fail_after(PATIENCE):
                await poll(lambda: node.processed(queue) > 0)
            for _ in range(5):
                before = node.processed(queue)
                await trio.sleep(seconds / 5)
                counts.append(node.processed(queue) - before)
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await pin.close()
    await empty(node, queue)
    return Figure(counts[-1] / max(1, counts[0]), {"rate": sum(counts) / seconds})


async def _flood(node: BenchNode, queue: str) -> None:
    sent = node.processed(queue)

    def is_short() -> bool:
        return sent - node.processed(queue) < FLOOD_AHEAD

    async with node.parts.pool.connection() as conn:
        while True:
            await poll(is_short, interval=0.002)
            await send(conn, node.app.id, make_messages(queue, range(FLOOD_BATCH)))
            sent += FLOOD_BATCH
            node.wake(queue)
