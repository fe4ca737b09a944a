"""A thousand schedules that are due in the same second, on three nodes: each fires once."""

from __future__ import annotations

from pathlib import Path

import trio

from picloud.bench.node import BenchNode, bench_node
from picloud.config import Settings
from picloud.db.connection import Connection
from picloud.db.pool import Pool
from picloud.db.scripts import put_script

HANG_LIMIT = 60.0
TRIGGERS = 1000
FORWARD = """\
def handle(event, ctx):
    queue.enqueue("sink", event.payload)
"""
# once a year: nothing else comes due while the test runs
INSERT = """
with made as (
  insert into triggers (id, app_id, script_id, kind)
  select gen_random_uuid(), %(app)s, case when n %% 5 = 0 then s.id end, 'cron'
    from generate_series(1, %(count)s) n, scripts s where s.app_id = %(app)s
  returning id, script_id
), numbered as (
  select *, row_number() over () as n from made
)
insert into cron_trigger_details (trigger_id, schedule, timezone, payload, queue_name, next_fire_at)
select id, '0 0 1 1 *', 'Europe/Berlin', to_jsonb(n), case when script_id is null then 'sink' end,
       date_trunc('year', now() at time zone 'Europe/Berlin') at time zone 'Europe/Berlin' + interval '1 year'
  from numbered
"""
ALL_DUE = """
update cron_trigger_details
   set next_fire_at = date_trunc('year', now() at time zone 'Europe/Berlin') at time zone 'Europe/Berlin'
"""


async def count_sink(conn: Connection) -> tuple[int, int]:
    cur = await conn.execute("select count(*), count(distinct payload) from queue_messages where queue_name = 'sink'")
    row = await cur.fetchone()
    assert row is not None
    return row[0], row[1]


def fired(node: BenchNode) -> int:
    shown = node.tree.snapshot("/picloud/services/cron", 0)
    assert shown is not None
    return int(shown["details"]["fired"])


async def test_a_thousand_due_at_once_fire_once_each_with_three_nodes(
    database: str, tmp_path: Path, pool: Pool
) -> None:
    settings = Settings(home=tmp_path, log_level="error")
    async with (
        bench_node(database, settings) as one,
        bench_node(database, settings) as two,
        bench_node(database, settings) as three,
        pool.connection() as conn,
    ):
        nodes = (one, two, three)
        await put_script(conn, one.app.id, "forward", FORWARD)
        await conn.execute(INSERT, {"app": one.app.id, "count": TRIGGERS})
        assert await count_sink(conn) == (0, 0)
        await conn.execute(ALL_DUE)
        with trio.fail_after(HANG_LIMIT):
            while sum(fired(node) for node in nodes) < TRIGGERS or (await count_sink(conn))[0] < TRIGGERS:
                await trio.sleep(0.02)
        # once each: nothing more comes, and nothing is left
        assert await count_sink(conn) == (TRIGGERS, TRIGGERS)
        assert sum(fired(node) for node in nodes) == TRIGGERS
        cur = await conn.execute("select count(*), count(distinct trigger_id) from cron_fires")
        assert await cur.fetchone() == (TRIGGERS, TRIGGERS)
        # a delivery is gone once its effects are there
        cur = await conn.execute("select count(*) from outbox")
        assert await cur.fetchone() == (0,)
