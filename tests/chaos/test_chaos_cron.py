"""kill -9 of whoever fires, in the middle of it: every schedule fires once all the same."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

import psycopg
import trio
from uuid_utils.compat import uuid7

from picloud.cron_spec import CronTriggerSpec
from picloud.db.apps import insert_app
from picloud.db.connection import Connection
from picloud.db.cron import insert_cron_trigger
from picloud.db.cron_fires import fire_due
from picloud.db.scripts import put_script

SEED = int(os.environ.get("PICLOUD_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
KILLS = 2
TRIGGERS = 300
HANG_LIMIT = 60.0
FIRE_FOR_EVER = """
import sys, trio
from picloud.db.connection import connect
from picloud.db.cron_fires import fire_due

async def main():
    conn = await connect(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    while True:
        await fire_due(conn, limit=7)

trio.run(main)
"""


async def test_kill_nine_in_the_middle_of_a_tick_leaves_each_fired_once(conn: Connection, database: str) -> None:
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    app = await insert_app(conn, f"app-{uuid7()}")
    await put_script(conn, app.id, "report", "def handle(event, ctx): pass")
    for number in range(TRIGGERS):
        target = {"script": "report"} if number % 2 else {"queue_name": "jobs"}
        await insert_cron_trigger(conn, app.id, CronTriggerSpec("0 0 1 1 *", **target, payload=number))  # type: ignore[arg-type]
    await conn.execute("update cron_trigger_details set next_fire_at = next_fire_at - interval '1 year'")
    for _ in range(KILLS):
        await trio.to_thread.run_sync(kill_in_the_middle, database, dice.uniform(0.002, 0.06))
    cut_off = await count(conn, "cron_fires")
    with trio.fail_after(HANG_LIMIT):
        # the server notices the last death by itself
        while (await count(conn, "cron_fires")) < TRIGGERS:
            await fire_due(conn, limit=100)
    print(f"{cut_off} fired by those that were killed")
    cur = await conn.execute("select count(*), count(distinct trigger_id) from cron_fires")
    assert await cur.fetchone() == (TRIGGERS, TRIGGERS)
    cur = await conn.execute(
        """with done as (select (event ->> 'payload')::int as n from outbox
                         union all select payload::int from queue_messages)
           select count(*), count(distinct n) from done"""
    )
    assert await cur.fetchone() == (TRIGGERS, TRIGGERS)


def kill_in_the_middle(database: str, seconds: float) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", FIRE_FOR_EVER, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child, psycopg.connect(database, autocommit=True) as watcher:
        assert child.stdout.readline() == "ready\n"
        before = fires(watcher)
        child.stdin.write("go\n")
        child.stdin.flush()
        deadline = time.monotonic() + HANG_LIMIT
        while fires(watcher) == before < TRIGGERS and time.monotonic() < deadline:
            pass
        time.sleep(seconds)
        child.kill()


def fires(watcher: psycopg.Connection[tuple[int]]) -> int:
    row = watcher.execute("select count(*) from cron_fires").fetchone()
    assert row is not None
    return row[0]


async def count(conn: Connection, table: str) -> int:
    row = await (await conn.execute(f"select count(*) from {table}")).fetchone()  # type: ignore[arg-type]
    assert row is not None
    return int(row[0])
