"""Units of work with keys and invocations on a real database: whole or not at all, whoever else writes meanwhile."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
import trio
from queue_probes import Claims, Queue, message, new_queue
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.kv import list_keys, list_keys_sync, lock_keys, read_key, read_key_sync
from picloud.db.pool import Pool
from picloud.db.scripts import put_script
from picloud.db.thread import ThreadConnections
from picloud.db.units import Committed, Unit, apply_effects, commit_units
from picloud.errors import KvConflict
from picloud.types import ClaimToken, Effects, KvWrite, NewInvocation


def put(key: str, value: Any, if_version: int | None = None) -> KvWrite:
    return KvWrite("set", key, json.dumps(value), if_version=if_version)


def add(key: str, amount: float = 1) -> KvWrite:
    return KvWrite("increment", key, amount=amount)


async def commit(queue: Queue, claims: Claims, *effects: Effects) -> Committed:
    units = [Unit(cause, one) for cause, one in zip(claims.ids, effects, strict=True)]
    return await commit_units(queue.conn, queue.app.id, claims.token, units)


async def value(queue: Queue, key: str) -> Any:
    text = (await read_key(queue.conn, queue.app.id, key)).value
    return None if text is None else json.loads(text)


async def test_keys_messages_and_invocations_are_committed_with_the_acknowledgement(conn: Connection) -> None:
    queue = await new_queue(conn)
    script = (await put_script(conn, queue.app.id, "later", "def handle(event, ctx): pass\n")).script
    await queue.send(1)
    claims = await queue.claim()
    invocation = NewInvocation(uuid7(), script.id, '{"body": 1, "caller": "main"}', 4)
    effects = Effects((message("out"),), (put("a", [1]), add("n", 2), add("n")), (invocation,))
    done = await commit(queue, claims, effects)
    assert (done.done, done.refused, done.invocations, len(done.sent)) == (claims.ids, [], 1, 1)
    assert await queue.counts() == (0, 0, 0, 0)
    assert await queue.counts("out") == (1, 0, 0, 0)
    assert (await value(queue, "a"), await value(queue, "n")) == ([1], 3)
    row = await (
        await conn.execute("select id, source_kind, script_id, event, max_attempts, trigger_depth from outbox")
    ).fetchone()
    assert row == (invocation.id, "invoke", script.id, {"body": 1, "caller": "main"}, 1, 4)


async def test_lost_lease_leaves_nothing(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send(1)
    claims = await queue.claim()
    stale = Claims(ClaimToken(uuid7()), claims.pulled)
    done = await commit(queue, stale, Effects((message("out"),), (put("a", 1),)))
    assert (done.done, done.refused, done.sent) == ([], [], [])
    assert await queue.counts() == (0, 0, 1, 0)
    assert await value(queue, "a") is None
    assert await list_keys(conn, queue.app.id) == []


async def test_version_lets_one_of_two_through(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send(1, 2, 3)
    claims = await queue.claim()
    done = await commit(
        queue,
        claims,
        Effects(writes=(put("a", "first", if_version=0),)),
        Effects(messages=(message("out"),), writes=(put("a", "second", if_version=0),)),
        Effects(writes=(put("b", "third", if_version=0),)),
    )
    assert done.done == [claims.ids[0], claims.ids[2]]
    ((refused, error),) = done.refused
    assert refused == claims.ids[1]
    assert isinstance(error, KvConflict)
    # it is still claimed, to be tried again, and left nothing
    assert await queue.counts() == (0, 0, 1, 0)
    assert await queue.counts("out") == (0, 0, 0, 0)
    assert (await value(queue, "a"), await value(queue, "b")) == ("first", "third")


async def test_version_of_a_key_never_comes_back(conn: Connection) -> None:
    queue = await new_queue(conn)
    seen = set()
    for _ in range(3):
        await apply_effects(conn, queue.app.id, Effects(writes=(put("a", 1),)), Committed())
        seen.add((await read_key(conn, queue.app.id, "a")).version)
        await apply_effects(conn, queue.app.id, Effects(writes=(KvWrite("delete", "a"),)), Committed())
        assert (await read_key(conn, queue.app.id, "a")).version == 0
    assert len(seen) == 3
    assert 0 not in seen


async def test_increment_of_a_text_is_refused_and_the_other_units_go_on(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send(1, 2)
    claims = await queue.claim()
    await apply_effects(conn, queue.app.id, Effects(writes=(put("name", "shop"),)), Committed())
    done = await commit(queue, claims, Effects(writes=(add("name"),)), Effects(writes=(add("n"),)))
    assert done.done == [claims.ids[1]]
    assert "increment needs a number" in str(done.refused[0][1])
    assert (await value(queue, "name"), await value(queue, "n")) == ("shop", 1)


async def test_no_increment_is_lost_however_many_write_at_once(conn: Connection, pool: Pool) -> None:
    queue = await new_queue(conn)

    async def increment(start: int) -> None:
        for turn in range(20):
            async with pool.transaction() as one:
                # in different orders: they must not wait for each other in a circle
                keys = [f"k{(start + turn + at) % 5}" for at in range(5)]
                await apply_effects(one, queue.app.id, Effects(writes=tuple(map(add, keys))), Committed())

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for start in range(4):
                nursery.start_soon(increment, start)
    assert [await value(queue, f"k{at}") for at in range(5)] == [80] * 5


async def test_apps_have_keys_of_their_own(conn: Connection) -> None:
    one, two = await new_queue(conn), await new_queue(conn)
    await apply_effects(conn, one.app.id, Effects(writes=(put("a", 1),)), Committed())
    assert (await value(one, "a"), await value(two, "a")) == (1, None)
    assert await list_keys(conn, two.app.id) == []


async def test_keys_are_listed_in_the_order_of_their_code_points(conn: Connection, database: str) -> None:
    queue = await new_queue(conn)
    keys = ["a", "B", "a/1", "a/2", "ä", "_", "a%b", "Ω"]
    await apply_effects(conn, queue.app.id, Effects(writes=tuple(put(key, 1) for key in keys)), Committed())
    assert await list_keys(conn, queue.app.id) == sorted(keys)
    assert await list_keys(conn, queue.app.id, prefix="a", after="a", limit=2) == ["a%b", "a/1"]
    assert await list_keys(conn, queue.app.id, prefix="a%") == ["a%b"]
    reads = ThreadConnections(database)
    try:
        assert list_keys_sync(reads.get(), queue.app.id, "a/", "", 10) == ["a/1", "a/2"]
        assert read_key_sync(reads.get(), queue.app.id, "a").value == "1"
        assert read_key_sync(reads.get(), queue.app.id, "none").version == 0
    finally:
        reads.close_all()


@pytest.mark.parametrize("text", ["1e300", '"\\u00e4"', "[1, null, {}]", "12345678901234567890123", "1.10"])
async def test_values_come_back_as_they_went_in(conn: Connection, text: str) -> None:
    queue = await new_queue(conn)
    write = KvWrite("set", "a", text)
    await apply_effects(conn, queue.app.id, Effects(writes=(write,)), Committed())
    assert json.loads((await read_key(conn, queue.app.id, "a")).value or "") == json.loads(text)


async def test_invocation_of_a_script_that_was_deleted_meanwhile_does_not_stop_the_unit(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send(1)
    claims = await queue.claim()
    gone = NewInvocation(UUID(int=1), UUID(int=2), "{}", 1)  # type: ignore[arg-type]
    done = await commit(queue, claims, Effects(invocations=(gone,)))
    assert done.done == claims.ids


async def test_key_that_another_deletes_while_it_is_waited_for_is_made_anew(conn: Connection, pool: Pool) -> None:
    queue = await new_queue(conn)
    async with pool.transaction() as one:
        await apply_effects(one, queue.app.id, Effects(writes=(put("a", 5),)), Committed())
    async with trio.open_nursery() as nursery, pool.transaction() as one:
        await lock_keys(one, queue.app.id, ["a"])

        async def increment() -> None:
            async with pool.transaction() as other:
                await apply_effects(other, queue.app.id, Effects(writes=(add("a"),)), Committed())

        nursery.start_soon(increment)
        waiting = (
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
        with trio.fail_after(20):
            while (await (await queue.conn.execute(waiting)).fetchone()) != (1,):
                await trio.sleep(0.01)
        await one.execute("delete from kv where key = 'a'")
    assert await value(queue, "a") == 1
