"""Behind a transaction-pooling proxy: no prepared statement, no LISTEN, no lock or setting that lives in a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import trio
from pooling_proxy import PoolingProxy, pooling_proxy
from psycopg.conninfo import make_conninfo

from picloud.app import _DatabaseChoice, _Node
from picloud.bench.feeding import fill
from picloud.bench.node import BenchNode, bench_node
from picloud.cli.entry import NodeOptions
from picloud.config import Settings
from picloud.db.connection import connect
from picloud.db.pool import Pool
from picloud.db.triggers import QueueTriggerSettings
from picloud.db.wakeups import is_own_session
from picloud.errors import DatabaseUnavailable

COUNTS = """\
from picloud.sdk import kv, queue

def handle(event, ctx):
    if event.payload["n"] % 10 == 0 and event.attempt == 1:
        raise ValueError("once more")
    kv.increment("seen")
    kv.set("last", kv.get("last"))
    queue.enqueue("sink", event.payload["n"])
"""
MESSAGES = 60


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(60):
        while not condition():
            await trio.sleep(0.02)


async def work(node: BenchNode) -> None:
    settings = QueueTriggerSettings(retry_base_ms=100, retry_backoff="constant")
    await node.bind("counts", COUNTS, "jobs", settings)
    await fill(node, "jobs", MESSAGES)
    await until(lambda: node.processed("jobs") == MESSAGES)
    janitor, cron = "/picloud/services/janitor", "/picloud/services/cron"
    await until(lambda: (node.tree.snapshot(janitor, 0) or {})["details"]["sweeps"] > 0)
    for path in (janitor, cron, "/picloud/wakeup", "/picloud/services/recorder", "/picloud/services/outbox"):
        shown = node.tree.snapshot(path, 0)
        assert shown is not None
        assert (shown["health"]["state"], shown["restart_count"]) == ("ok", 0), path


async def left_behind(proxy: PoolingProxy, database: str) -> list[object]:
    """What the shared sessions hold that is somebody's: locks, and statements that were prepared."""
    found: list[object] = []
    conn = await connect(database)
    pids = [session.conn.info.backend_pid for session in proxy.sessions]
    cur = await conn.execute("select pid from pg_locks where locktype = 'advisory' and pid = any(%s)", [pids])
    found += await cur.fetchall()
    await conn.close()
    lent = await connect(proxy.address, prepare=False)
    for _ in range(2 * proxy.size):
        cur = await lent.execute("select statement from pg_prepared_statements")
        found += await cur.fetchall()
    await lent.close()
    return found


async def test_node_works_behind_a_transaction_pooling_proxy(database: str, tmp_path: Path) -> None:
    async with pooling_proxy(database) as proxy:
        settings = Settings(
            home=tmp_path,
            log_level="error",
            db_prepare=False,
            listen_database_url=make_conninfo(database, application_name="direct"),
            queue_poll_interval=0.2,
            queue_reclaim_interval_ms=200,
        )
        async with bench_node(proxy.address, settings) as node:
            await work(node)
            wakeup = node.tree.snapshot("/picloud/wakeup", 0)
            assert wakeup is not None
            assert (wakeup["details"]["listening"], wakeup["details"]["pooled"]) == (True, False)
            assert await left_behind(proxy, database) == []
            assert node.parts.pool.statistics().dropped == 0
        assert proxy.transactions > 50
        with psycopg.connect(database) as conn:
            sink = conn.execute("select payload::int from queue_messages where queue_name = 'sink' order by 1")
            assert [n for (n,) in sink.fetchall()] == list(range(MESSAGES))
            assert conn.execute("select value::text::int from kv where key = 'seen'").fetchone() == (MESSAGES,)


async def test_listening_over_the_proxy_is_shown_and_the_poll_finds_all(database: str, tmp_path: Path) -> None:
    async with pooling_proxy(database) as proxy:
        settings = Settings(home=tmp_path, log_level="error", db_prepare=False, queue_poll_interval=0.2)
        async with bench_node(proxy.address, settings) as node:
            await work(node)
            wakeup = node.tree.snapshot("/picloud/wakeup", 0)
            assert wakeup is not None
            assert wakeup["details"]["pooled"] is True
            # the janitor leads without a lock: one of a lent session would outlive it, and nobody would lead again
            assert await left_behind(proxy, database) == []


async def repeat(pool: Pool) -> None:
    for _ in range(40):
        async with pool.connection() as conn:
            await conn.execute("select 1")


async def test_statements_prepared_over_the_proxy_are_an_outage_that_says_what_to_set(database: str) -> None:
    async with pooling_proxy(database) as proxy:
        async with Pool(proxy.address, 2) as pool:
            with pytest.raises(DatabaseUnavailable, match="PICLOUD_DB_PREPARE=false"):
                await repeat(pool)
            assert pool.statistics().dropped == 1
        async with Pool(proxy.address, 2, prepare=False) as pool, pool.connection() as conn:
            for number in range(40):
                cur = await conn.execute("select %s::int", [number])
                assert await cur.fetchone() == (number,)
            assert not await is_own_session(conn)
        direct = await connect(database)
        assert await is_own_session(direct)
        await direct.close()


@pytest.mark.parametrize("prepares", [True, False])
async def test_node_prepares_statements_on_all_its_connections_or_on_none(
    database: str, pool: Pool, tmp_path: Path, prepares: bool
) -> None:
    options = NodeOptions(None, lambda info: None)
    choice = _DatabaseChoice(database, "", None)
    node = _Node(Settings(home=tmp_path, db_prepare=prepares), options, choice, None, None)  # type: ignore[arg-type]
    first = await node._first_connection()
    with node._parts(pool) as parts:
        assert parts.connect_recorder is not None
        connections = [first, await parts.connect(), await parts.connect_recorder()]
        for conn in connections:
            assert (conn.prepare_threshold is not None) == prepares
            await conn.close()
