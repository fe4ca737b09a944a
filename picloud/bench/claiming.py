"""What a claim costs: with a large backlog, and with dead rows that an open snapshot keeps."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import LiteralString

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
CLAIMS = 200
WARM_UPS = 10
BATCH = 10
FLOOD_QUEUE = "pinned"
FLOOD_BATCH = 100
FLOOD_AHEAD = 2000
"""Messages that wait at most while the snapshot is open."""

_sql = load("bench")


async def claim_backlog(dsn: str, backlog: int) -> Figure:
    """Return the median milliseconds of a claim with `backlog` ready, as many delayed before them, a tenth claimed.

    `growth` compares with a database that holds a thousand; claims from both take turns.
    """
    async with side_database(dsn) as side, _open(side) as large_conn, _open(dsn) as small_conn:
        await migrate(large_conn)
        large = _Claimer(large_conn, (await insert_app(large_conn, "large")).id)
        small = _Claimer(small_conn, (await insert_app(small_conn, f"bench-{uuid7()}")).id)
        await large.fill(_sql.fill_ready, backlog)
        await large.fill(_sql.fill_delayed, backlog)
        await large.fill(_sql.fill_claimed, max(1, backlog // 10))
        await small.fill(_sql.fill_ready, SMALL)
        for conn in (large_conn, small_conn):
            await vacuum_messages(conn)
        for _ in range(WARM_UPS):
            await large.claim()
            await small.claim()
        waits: list[tuple[float, float]] = []
        for number in range(1, CLAIMS + 1):
            waits.append((await large.claim(), await small.claim()))
            if number % 50 == 0:
                await small.fill(_sql.fill_ready, 50 * BATCH)
        await small.empty()
    median, small_median = (statistics.median(side) for side in zip(*waits, strict=True))
    return Figure(median, {"small": small_median}, {"growth": median / small_median})


@asynccontextmanager
async def _open(dsn: str) -> AsyncIterator[Connection]:
    conn = await connect(dsn)
    try:
        yield conn
    finally:
        with trio.CancelScope(shield=True):
            await conn.close()


class _Claimer:
    """Pulls as a consumer does: each pull acknowledges the one before."""

    def __init__(self, conn: Connection, app_id: AppId) -> None:
        self._conn = conn
        self._queue = {"app_id": app_id, "queue_name": "backlog"}
        self._app_id = app_id
        self._low_water = LowWater()
        self._settle = Settlement(ClaimToken(uuid7()))

    async def fill(self, statement: LiteralString, count: int) -> None:
        await self._conn.execute(statement, {**self._queue, "count": count})

    async def empty(self) -> None:
        await self._conn.execute(_sql.empty_queue, self._queue)

    async def claim(self) -> float:
        """Return the milliseconds it took."""
        token = ClaimToken(uuid7())
        began = time.perf_counter()
        pulled = await pull_messages(
            self._conn,
            self._app_id,
            "backlog",
            settle=self._settle,
            claim_token=token,
            limit=BATCH,
            low_water=self._low_water,
        )
        waited = (time.perf_counter() - began) * 1000
        self._low_water.advance(pulled.messages)
        self._settle = Settlement(token, [message.id for message in pulled.messages])
        return waited


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
