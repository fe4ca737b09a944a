"""What was recorded is corrected where its effects were not committed after all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import trio

from picloud.bench.feeding import fill
from picloud.bench.node import BenchNode, bench_node
from picloud.config import Settings
from picloud.db.connection import Connection
from picloud.db.execution_reads import ExecutionFilter, ExecutionRecord, list_executions
from picloud.db.triggers import QueueTriggerSettings

HANG_LIMIT = 60.0
SLOW = "import time\ndef handle(event, ctx):\n    time.sleep(0.5)\n"
STALE = """\
import time
from picloud.sdk import kv, queue

def handle(event, ctx):
    kv.set("n", 1, if_version=0)
    queue.enqueue("started", 1, immediate=True)
    while queue.depth("go") == 0:
        time.sleep(0.01)
"""


async def recorded(node: BenchNode, wanted: Callable[[ExecutionRecord], bool]) -> ExecutionRecord:
    with trio.fail_after(HANG_LIMIT):
        while True:
            async with node.parts.pool.connection() as conn:
                found = [one for one in await list_executions(conn, node.app.id, ExecutionFilter()) if wanted(one)]
            if found:
                return found[0]
            await trio.sleep(0.05)


async def test_execution_that_lost_its_lease_is_recorded_so(conn: Connection, database: str, tmp_path: Path) -> None:
    async with bench_node(database, Settings(home=tmp_path, log_level="error")) as node:
        await node.bind("slow", SLOW, "slow", QueueTriggerSettings())
        await fill(node, "slow", 1)
        with trio.fail_after(HANG_LIMIT):
            # another one claims it while the handler runs
            taken = "update queue_messages set claim_token = gen_random_uuid() where claim_token is not null"
            while not (await conn.execute(taken)).rowcount:
                await trio.sleep(0.01)
        lost = await recorded(node, lambda one: one.status == "lease_lost")
        assert (lost.script_name, lost.error) == ("slow", None)


async def test_effects_that_were_refused_are_the_executions_error(
    conn: Connection, database: str, tmp_path: Path
) -> None:
    async with bench_node(database, Settings(home=tmp_path, log_level="error")) as node:
        await node.bind("stale", STALE, "stale", QueueTriggerSettings(retry_max_attempts=1))
        await fill(node, "stale", 1)
        with trio.fail_after(HANG_LIMIT):
            started = "select from queue_messages where queue_name = 'started'"
            while not (await conn.execute(started)).rowcount:
                await trio.sleep(0.01)
        # another execution was faster
        await conn.execute(
            "insert into kv (app_id, key, value, version) values (%s, 'n', '2', nextval('kv_versions'))", (node.app.id,)
        )
        await fill(node, "go", 1)
        refused = await recorded(node, lambda one: one.status == "error")
        assert refused.error is not None
        assert (refused.error["type"], refused.error["line"]) == ("KvConflict", None)
