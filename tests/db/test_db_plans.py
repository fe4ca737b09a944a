"""The plans of the queue's hot statements, for fresh parameters and for any: an index each, never the whole table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from queue_probes import Queue, message, new_queue
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.messages import (
    Effect,
    LowWater,
    Settlement,
    dead_letter_messages,
    extend_leases,
    hold_messages,
    insert_messages,
    list_due_queues,
    nack_messages,
    pull_messages,
    reclaim_messages,
    release_messages,
    remove_messages,
)
from picloud.db.sqlfile import load
from picloud.types import ClaimToken, MessageId

ROWS = 20_000
TOKEN = ClaimToken(uuid7())
LARGE = 150_000

_bench = load("bench")


@dataclass
class Hot:
    """A statement that runs for every message or every few seconds, and the indexes it lives by."""

    name: str
    run: Callable[[Queue, list[MessageId]], Awaitable[object]]
    indexes: tuple[str, ...]


async def pull(queue: Queue, ids: list[MessageId]) -> None:
    effects = [Effect(ids[0], message("out", 1)), Effect(ids[1], message("out", 2, dedup_key="k"))]
    pulled = await pull_messages(
        queue.conn,
        queue.app.id,
        "jobs",
        settle=Settlement(TOKEN, ids, effects),
        claim_token=ClaimToken(uuid7()),
        limit=10,
        low_water=LowWater(),
    )
    assert len(pulled.messages) == 10


PRIMARY, DISPATCH, CLAIMED = "queue_messages_pkey", "queue_messages_dispatch", "queue_messages_claimed"
HOT = [
    Hot("pull", pull, (PRIMARY, DISPATCH)),
    Hot("insert one", lambda q, ids: q.send(1), ()),
    Hot("insert with a key", lambda q, ids: q.send(1, dedup_key="k"), ("queue_messages_dedup",)),
    Hot("insert alike", lambda q, ids: q.send(1, 2, 3), ()),
    Hot(
        "insert mixed",
        lambda q, ids: insert_messages(q.conn, q.app.id, [message("a"), message("b", priority=3)]),
        (),
    ),
    Hot("hold", lambda q, ids: hold_messages(q.conn, TOKEN, ids), (PRIMARY,)),
    Hot("nack", lambda q, ids: nack_messages(q.conn, TOKEN, [(i, 1.0) for i in ids]), (PRIMARY,)),
    Hot("release", lambda q, ids: release_messages(q.conn, TOKEN, ids), (PRIMARY,)),
    Hot("extend", lambda q, ids: extend_leases(q.conn, TOKEN, ids), (PRIMARY,)),
    Hot("remove", lambda q, ids: remove_messages(q.conn, TOKEN, ids), (PRIMARY,)),
    Hot(
        "dead letter",
        lambda q, ids: dead_letter_messages(q.conn, TOKEN, [(i, "{}") for i in ids], trigger_id=None, script_name=None),
        (PRIMARY,),
    ),
    Hot("reclaim", lambda q, ids: reclaim_messages(q.conn, default_timeout_secs=30, limit=10), (CLAIMED,)),
    Hot("due queues", lambda q, ids: list_due_queues(q.conn), (DISPATCH,)),
]


@pytest.fixture
async def queue(conn: Connection) -> Queue:
    """A queue with half of its many messages for later, before all others, and some claimed."""
    queue = await new_queue(conn)
    await conn.execute(
        """insert into queue_messages (id, app_id, queue_name, payload, priority, deliver_after, dedup_key, claim_token,
                                       claimed_at)
           select gen_random_uuid(), %(app)s, 'jobs', '{}', case when g %% 2 = 0 then 9 else 0 end,
                  case when g %% 2 = 0 then now() + interval '1 hour' else now() end,
                  case when g %% 5 = 0 then 'key ' || g end,
                  case when g %% 10 = 1 then gen_random_uuid() end, case when g %% 10 = 1 then now() end
             from generate_series(1, %(rows)s) g""",
        {"app": queue.app.id, "rows": ROWS},
    )
    await conn.execute("vacuum analyze queue_messages")
    return queue


async def held(queue: Queue) -> list[MessageId]:
    """Claim three messages under the token."""
    pulled = await pull_messages(
        queue.conn,
        queue.app.id,
        "jobs",
        settle=Settlement(TOKEN),
        claim_token=TOKEN,
        limit=3,
        low_water=LowWater(),
    )
    return [claimed.id for claimed in pulled.messages]


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_hot_statements_go_by_their_index(queue: Queue, mode: str) -> None:
    conn = queue.conn
    conn.prepare_threshold = 0
    plans: list[str] = []
    conn.add_notice_handler(lambda diagnostic: plans.append(diagnostic.message_primary or ""))
    await conn.execute("load 'auto_explain'")
    for hot in HOT:
        ids = await held(queue)
        await conn.execute(f"set plan_cache_mode = {mode}")  # type: ignore[arg-type]
        await conn.execute("set auto_explain.log_min_duration = 0")
        await conn.execute("set client_min_messages = log")
        plans.clear()
        await hot.run(queue, ids)
        shown = "\n".join(plan for plan in plans if "queue_messages" in plan)
        for setting in ("client_min_messages", "auto_explain.log_min_duration", "plan_cache_mode"):
            await conn.execute(f"reset {setting}")  # type: ignore[arg-type]
        assert shown, hot.name
        plan = shown[shown.index("Query Text:") :]
        assert "Seq Scan on queue_messages" not in plan, f"{hot.name}\n{plan}"
        for index in hot.indexes:
            assert index in plan, f"{hot.name}: {index}\n{plan}"


async def test_pull_of_a_large_table_is_not_planned_each_time(conn: Connection) -> None:
    queue = await new_queue(conn)
    rows = {"app_id": queue.app.id, "queue_name": "jobs", "count": LARGE}
    for fill in (_bench.fill_ready, _bench.fill_delayed, _bench.fill_claimed):
        await conn.execute(fill, rows)
    await conn.execute("vacuum analyze queue_messages")
    conn.prepare_threshold = 0
    settle, low_water = Settlement(TOKEN), LowWater()
    for _ in range(10):
        token = ClaimToken(uuid7())
        pulled = await pull_messages(
            conn, queue.app.id, "jobs", settle=settle, claim_token=token, limit=10, low_water=low_water
        )
        assert len(pulled.messages) == 10
        low_water.advance(pulled.messages)
        settle = Settlement(token, [claimed.id for claimed in pulled.messages])
    cur = await conn.execute(
        "select custom_plans, generic_plans from pg_prepared_statements where statement like 'with acked as%'"
    )
    # the server tries five with the parameters first
    assert await cur.fetchall() == [(5, 5)]
