"""Order, keys, how much at once and how fast: rules of a queue that hold whoever claims."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from queue_probes import Claims, Queue, message, new_queue
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.dead_letters import Replay, replay_dead_letters
from picloud.db.messages import (
    LowWater,
    Settlement,
    dead_letter_messages,
    insert_messages,
    nack_messages,
    release_messages,
)
from picloud.db.pool import Pool
from picloud.db.queue_rules import change_rules, get_rules, pull_by_rules
from picloud.db.queues import ensure_queue
from picloud.errors import InvalidInput, QueueNotFound
from picloud.types import ClaimToken, QueueRules


async def send(queue: Queue, *pairs: tuple[Any, str | None], **more: Any) -> None:
    messages = [message(queue.name, payload, group_key=key, **more) for payload, key in pairs]
    await insert_messages(queue.conn, queue.app.id, messages)


async def change_rules_of_new(queue: Queue, rules: QueueRules) -> None:
    await ensure_queue(queue.conn, queue.app.id, queue.name)
    await change_rules(queue.conn, queue.app.id, queue.name, rules)


async def pull(queue: Queue, conn: Connection, limit: int = 10, done: Claims | None = None) -> Claims:
    token = ClaimToken(uuid7())
    settle = Settlement(token) if done is None else Settlement(done.token, done.ids)
    pulled = await pull_by_rules(
        conn, queue.app.id, queue.name, settle=settle, claim_token=token, limit=limit, low_water=LowWater()
    )
    return Claims(token, pulled)


async def test_one_of_each_key_is_claimed_at_a_time_in_order(conn: Connection) -> None:
    queue = await new_queue(conn)
    await send(queue, ("a1", "a"), ("a2", "a"), ("b1", "b"), ("free1", None), ("a3", "a"), ("b2", "b"), ("free2", None))
    first = await queue.claim()
    assert first.payloads == ["a1", "b1", "free1", "free2"]
    assert (await queue.claim()).payloads == []
    # acknowledged and claimed in one statement
    second = await queue.claim(done=first)
    assert second.payloads == ["a2", "b2"]
    assert (await queue.claim(done=second)).payloads == ["a3"]


async def test_retry_holds_its_key_up_and_a_dead_letter_lets_go(conn: Connection) -> None:
    queue = await new_queue(conn)
    await send(queue, ("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b"))
    first = await queue.claim()
    assert first.payloads == ["a1", "b1"]
    await nack_messages(conn, first.token, [(first.ids[0], 3_600_000)])
    await dead_letter_messages(conn, first.token, [(first.ids[1], "{}")], trigger_id=None, script_name=None)
    assert (await queue.claim()).payloads == ["b2"]
    await conn.execute("update queue_messages set deliver_after = now() where payload = '\"a1\"'")
    again = await queue.claim()
    assert again.payloads == ["a1"]
    assert (await queue.claim(done=again)).payloads == ["a2"]


async def test_message_that_was_sent_for_later_holds_nobody_up(conn: Connection) -> None:
    queue = await new_queue(conn)
    await send(queue, ("later", "a"), delay=3600)
    await send(queue, ("now", "a"))
    assert (await queue.claim()).payloads == ["now"]


async def test_keys_hold_however_many_claim_at_once(conn: Connection, pool: Pool) -> None:
    queue = await new_queue(conn)
    keys = "abcde"
    await send(queue, *[(f"{key}{n:02}", key) for n in range(20) for key in keys])
    seen: dict[str, list[str]] = {key: [] for key in keys}
    running: set[str] = set()

    async def consume() -> None:
        async with pool.connection() as own:
            mine = Queue(own, queue.app)
            done: Claims | None = None
            idle = 0
            while idle < 20:
                claims = await mine.claim(3, done=done)
                for payload in claims.payloads:
                    assert payload[0] not in running
                    running.add(payload[0])
                    seen[payload[0]].append(payload)
                await trio.sleep(0.002)
                running.difference_update(payload[0] for payload in claims.payloads)
                idle = 0 if claims.payloads else idle + 1
                done = claims

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(consume)
    assert {key: sorted(of_key) for key, of_key in seen.items()} == seen
    assert [len(of_key) for of_key in seen.values()] == [20] * 5


async def test_fifo_queue_has_one_message_in_flight_also_of_those_that_waited(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send(1, 2)
    await change_rules(conn, queue.app.id, "jobs", QueueRules(fifo=True))
    await send(queue, (3, "a"), (4, "b"))
    claims: Claims | None = None
    order = []
    for _ in range(4):
        claims = await queue.claim(done=claims)
        order.append(claims.payloads)
        assert (await queue.claim()).payloads == []
    assert order == [[1], [2], [3], [4]]
    await change_rules(conn, queue.app.id, "jobs", QueueRules())
    await queue.send(5, 6)
    assert sorted((await queue.claim(done=claims)).payloads) == [5, 6]


async def test_replayed_dead_letter_keeps_its_key(conn: Connection) -> None:
    queue = await new_queue(conn)
    await send(queue, ("a1", "a"))
    claims = await queue.claim()
    await dead_letter_messages(conn, claims.token, [(claims.ids[0], "{}")], trigger_id=None, script_name=None)
    await replay_dead_letters(conn, queue.app.id, Replay("ann"))
    await send(queue, ("a2", "a"))
    assert (await queue.claim()).payloads == ["a1"]


async def test_no_more_are_in_flight_than_the_queue_allows_however_many_claim_at_once(
    conn: Connection, pool: Pool
) -> None:
    queue = await new_queue(conn)
    await queue.send(*range(100))
    await change_rules(conn, queue.app.id, "jobs", QueueRules(max_in_flight=7))
    claimed: list[Claims] = []

    async def claim() -> None:
        async with pool.connection() as own:
            claimed.append(await pull(queue, own, limit=4))

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(claim)
    assert sum(len(claims.payloads) for claims in claimed) == 7
    assert await queue.counts() == (93, 0, 7, 0)
    # what is acknowledged in the same statement counts no more
    full = next(claims for claims in claimed if len(claims.payloads) == 4)
    assert len((await pull(queue, conn, limit=10, done=full)).payloads) == 4


async def test_stale_acknowledgement_takes_nobodys_place(conn: Connection) -> None:
    queue = await new_queue(conn)
    await change_rules_of_new(queue, QueueRules(max_in_flight=1))
    await queue.send(1, 2)
    stale = await pull(queue, conn)
    await release_messages(conn, stale.token, stale.ids)
    assert (await pull(queue, conn)).payloads == [1]
    assert (await pull(queue, conn, done=stale)).payloads == []


async def test_stale_acknowledgement_does_not_let_a_later_message_go_first(conn: Connection) -> None:
    queue = await new_queue(conn)
    await change_rules_of_new(queue, QueueRules(fifo=True))
    await queue.send("first")
    stale = await queue.claim()
    await nack_messages(conn, stale.token, [(stale.ids[0], 0.0)])
    await queue.send("second", priority=9)
    assert (await queue.claim(done=stale)).payloads == ["first"]


async def test_no_more_are_claimed_in_a_second_than_the_rate_allows(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send(*range(100))
    await change_rules(conn, queue.app.id, "jobs", QueueRules(rate_per_second=10))
    first = await pull(queue, conn, limit=50)
    assert len(first.payloads) == 10
    held_back = await pull(queue, conn, limit=50)
    assert held_back.payloads == []
    assert held_back.pulled.retry_in is not None
    assert 0 < held_back.pulled.retry_in <= 0.1
    await conn.execute("update queue_rates set at = at - interval '0.55 s'")
    assert 5 <= len((await pull(queue, conn, limit=50)).payloads) <= 6
    await conn.execute("update queue_rates set at = at - interval '1 hour'")
    assert len((await pull(queue, conn, limit=50)).payloads) == 10


async def test_rules_that_cannot_hold_are_refused(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send(1)
    with pytest.raises(InvalidInput, match="queue: "):
        await change_rules(conn, queue.app.id, "jobs", QueueRules(max_in_flight=0))
    with pytest.raises(InvalidInput, match="queue: "):
        await change_rules(conn, queue.app.id, "jobs", QueueRules(rate_per_second=-1))
    with pytest.raises(QueueNotFound):
        await change_rules(conn, queue.app.id, "none", QueueRules())
    assert await get_rules(conn, queue.app.id, "jobs") == QueueRules()
