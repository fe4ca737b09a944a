"""Leases, and what must not decide about them: names and records of nodes, limits of queues, delays, nodes' clocks."""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
import trio
from queue_probes import Claims, Queue, message, new_queue
from uuid_utils.compat import uuid7

from picloud.app import _DatabaseChoice, _Node
from picloud.backoff import compute_backoff
from picloud.bench.node import bench_node
from picloud.cli.entry import NodeOptions
from picloud.config import Settings
from picloud.db.connection import Connection
from picloud.db.messages import LowWater, Settlement, extend_leases, insert_messages, nack_messages, reclaim_messages
from picloud.db.pool import Pool
from picloud.db.queue_rules import change_rules, pull_by_rules
from picloud.db.queues import ensure_queue
from picloud.db.running import OwnExecution, publish_running
from picloud.types import ClaimToken, ExecutionId, QueueRules

HOUR = 3600.0


async def reclaim(queue: Queue) -> int:
    return sum(one.released for one in await reclaim_messages(queue.conn, default_timeout_secs=30, limit=100))


# Known failure 1: the record of a dead worker is pruned first, or its restarted host keeps it alive.
async def test_lease_of_a_dead_node_runs_out_whatever_became_of_its_records(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send("a")
    claims = await queue.claim()
    dead, restarted = uuid4(), uuid4()
    running = OwnExecution(ExecutionId(uuid7()), queue.app.id, "work", "queue", "jobs", str(claims.ids[0]), 5.0)
    await publish_running(conn, dead, [running])
    await conn.execute("delete from running_executions")
    await publish_running(conn, restarted, [])
    assert await reclaim(queue) == 0
    await queue.age_claims(31)
    await publish_running(conn, dead, [running])
    assert await reclaim(queue) == 1
    assert (await queue.claim()).payloads == ["a"]


async def test_node_has_a_new_id_at_each_boot(database: str, pool: Pool, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    ids = []
    for _ in range(2):
        options = NodeOptions(None, lambda info: None)
        node = _Node(settings, options, _DatabaseChoice(database, "", None), None, None)  # type: ignore[arg-type]
        with node._parts(pool) as parts:
            ids.append(parts.node_id)
    assert ids[0] != ids[1]


# Known failure 2: an expired claim still counts against the limit and blocks its own reclaim.
@pytest.mark.parametrize("limit", ["max_in_flight", "fifo", "group_key"])
async def test_expired_lease_frees_its_place_under_every_limit(conn: Connection, limit: str) -> None:
    queue = await new_queue(conn)
    await ensure_queue(conn, queue.app.id, "jobs")
    rules = {"max_in_flight": QueueRules(max_in_flight=1), "fifo": QueueRules(fifo=True), "group_key": QueueRules()}
    await change_rules(conn, queue.app.id, "jobs", rules[limit])
    key = "k" if limit == "group_key" else None
    await insert_messages(conn, queue.app.id, [message("jobs", n, group_key=key) for n in (1, 2)])

    async def pull(done: Claims | None = None) -> Claims:
        if limit != "max_in_flight":
            return await queue.claim(done=done)
        token = ClaimToken(uuid7())
        settle = Settlement(token) if done is None else Settlement(done.token, done.ids)
        pulled = await pull_by_rules(
            conn, queue.app.id, "jobs", settle=settle, claim_token=token, limit=10, low_water=LowWater()
        )
        return Claims(token, pulled)

    died = await pull()
    assert died.payloads == [1]
    assert (await pull()).payloads == []
    await queue.age_claims(31)
    assert await reclaim(queue) == 1
    again = await pull()
    # in order where that is promised; else what came back is due last
    assert again.payloads == ([2] if limit == "max_in_flight" else [1])
    # and the dead one's late acknowledgement frees nothing
    assert (await pull(done=died)).payloads == []
    (last,) = (await pull(done=again)).pulled.messages
    assert {again.payloads[0], last.payload} == {1, 2}


# Known failure 10: a delay longer than the visibility timeout makes copies.
@pytest.mark.parametrize("waits_by", ["delay", "backoff"])
async def test_message_that_waits_for_ten_visibility_timeouts_is_delivered_once(
    conn: Connection, waits_by: str
) -> None:
    queue = await new_queue(conn)
    await queue.bind(visibility_timeout_secs=3)
    if waits_by == "delay":
        await queue.send("a", delay=30.0)
    else:
        await queue.send("a")
        first = await queue.claim()
        assert await nack_messages(conn, first.token, [(first.ids[0], 30_000.0)]) == 1
    delivered: list[int] = []
    held: Claims | None = None
    for second in range(1, 41):
        # a second goes by
        await conn.execute(
            "update queue_messages set deliver_after = deliver_after - interval '1 s', "
            "claimed_at = claimed_at - interval '1 s'"
        )
        if held is not None:
            assert await extend_leases(conn, held.token, held.ids) == 1
        assert await reclaim(queue) == 0
        claims = await queue.claim()
        if claims.ids:
            held = claims
            delivered += [second] * len(claims.ids)
    assert delivered == [30]
    assert held is not None
    assert (await queue.claim(done=held)).pulled.acked == 1
    assert await queue.counts() == (0, 0, 0, 0)


# Known failure 28: backoff overflows at attempt 16 and the message disappears.
async def test_message_of_any_attempt_is_due_again_within_an_hour(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send("a", max_attempts=100)
    for attempt in (1, 15, 16, 17, 31, 32, 33, 63, 64, 99):
        await conn.execute("update queue_messages set attempt = %s, deliver_after = now()", [attempt - 1])
        claims = await queue.claim()
        (claimed,) = claims.pulled.messages
        assert claimed.attempt == attempt
        wait = compute_backoff(attempt, "exponential", 60_000)
        assert await nack_messages(conn, claims.token, [(claimed.id, float(wait))]) == 1
        assert await queue.counts() == (0, 1, 0, 0)
        cur = await conn.execute("select extract(epoch from deliver_after - now())::float8 from queue_messages")
        assert 0 < (await cur.fetchone() or (0.0,))[0] <= HOUR + 1


# Known failure 29: a node's clock an hour ahead takes everyone's leases.


@contextmanager
def clock_that_is_off(seconds: float) -> Iterator[None]:
    """Shift every clock that this process could ask for the time of day."""
    real_time, real_ns = time.time, time.time_ns

    class Shifted(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
            return datetime.datetime.fromtimestamp(real_time() + seconds, tz)

    with (
        patch("time.time", lambda: real_time() + seconds),
        patch("time.time_ns", lambda: real_ns() + int(seconds * 1e9)),
    ):
        modules = [module for name, module in sys.modules.items() if name.startswith("picloud.")]
        changed = [module for module in modules if getattr(module, "datetime", None) is datetime.datetime]
        assert changed
        for module in changed:
            module.datetime = Shifted  # type: ignore[attr-defined]
        try:
            yield
        finally:
            for module in changed:
                module.datetime = datetime.datetime  # type: ignore[attr-defined]


@pytest.mark.parametrize("hours", [1, -1])
async def test_node_whose_clock_is_off_takes_nobodys_lease_and_delivers_nothing_early(
    database: str, tmp_path: Path, conn: Connection, hours: int
) -> None:
    settings = Settings(
        home=tmp_path,
        log_level="error",
        queue_reclaim_interval_ms=100,
        queue_poll_interval=0.1,
        roster_poll_interval=0.1,
    )
    with clock_that_is_off(hours * HOUR):
        async with bench_node(database, settings) as node:
            queue = Queue(conn, node.app)
            await queue.send("another node's", "held")
            held = await queue.claim(2)
            await queue.send("later", delay=HOUR / 2)
            trigger = await queue.bind(visibility_timeout_secs=30)
            node.parts.wakes.changed("triggers")
            await queue.send("now")
            with trio.fail_after(60):
                while node.processed("jobs") < 1:
                    await trio.sleep(0.02)
            await trio.sleep(0.5)
            assert await queue.counts() == (0, 1, 2, 0)
            assert await extend_leases(conn, held.token, held.ids) == 2
            assert details(node.tree.snapshot("/picloud/services/reclaim", 0))["released"] == 0
            # by the database's clock it is found as always
            await queue.age_claims(31)
            with trio.fail_after(60):
                while node.processed("jobs") < 3:
                    await trio.sleep(0.02)
            assert await queue.counts() == (0, 1, 0, 0)
            assert trigger.queue_name == "jobs"


def details(shown: dict[str, Any] | None) -> dict[str, Any]:
    assert shown is not None
    found: dict[str, Any] = shown["details"]
    return found
