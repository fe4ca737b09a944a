"""What is past its retention goes, in batches, and nothing else; what keeps the database from clearing up is named."""

from __future__ import annotations

import pytest
import trio
from queue_probes import Queue, message, new_queue

from picloud.actors.janitor import Janitor, JanitorConfig
from picloud.actors.janitor_store import Retention, open_janitor_store
from picloud.db.connection import Connection, connect
from picloud.db.dead_letters import DeadLetter, discard_dead_letter, list_dead_letters
from picloud.db.janitor import (
    Pin,
    expire_messages,
    list_bloated,
    list_pins,
    prune_dead_letters,
    prune_script_versions,
    prune_tokens,
    try_lead,
)
from picloud.db.messages import Effect, insert_messages
from picloud.db.queue_rules import change_rules
from picloud.db.queues import ensure_queue
from picloud.db.scripts import list_script_versions, put_script
from picloud.db.tokens import create_token
from picloud.types import DeadLetterId, QueueRules


@pytest.fixture
async def queue(conn: Connection) -> Queue:
    return await new_queue(conn)


async def set_rules(queue: Queue, rules: QueueRules) -> None:
    await ensure_queue(queue.conn, queue.app.id, "jobs")
    await change_rules(queue.conn, queue.app.id, "jobs", rules)


async def wait_longer(queue: Queue, seconds: float) -> None:
    """Let every message have been due for longer, by the database's clock."""
    await queue.conn.execute(
        "update queue_messages set deliver_after = deliver_after - make_interval(secs => %s)", (seconds,)
    )


async def dead(queue: Queue, *, resolved: bool = False) -> list[DeadLetter]:
    return await list_dead_letters(queue.conn, queue.app.id, include_resolved=resolved)


# Messages.


async def test_a_message_due_for_longer_than_its_queue_allows_is_a_dead_letter(queue: Queue) -> None:
    await set_rules(queue, QueueRules(message_retention_secs=60))
    await queue.send("claimed", priority=9)
    claims = await queue.claim()
    await queue.send("low", group_key="k")
    await queue.send("high", priority=9)
    await queue.send("later", delay=3600.0)
    await wait_longer(queue, 61)
    await queue.send("fresh")
    other = await new_queue(queue.conn)
    await other.send("another app's")
    await wait_longer(other, 0)
    assert await expire_messages(queue.conn, 100) == 2
    assert await queue.counts() == (1, 1, 1, 2)
    assert await other.counts() == (1, 0, 0, 0)
    letters = {letter.event["payload"]: letter for letter in await dead(queue)}
    assert set(letters) == {"low", "high"}
    low = letters["low"]
    assert (low.reason, low.source, low.op, low.attempts) == ("expired", "queue", "receive", 0)
    assert low.error == {"type": "Expired", "message": "nobody took it within 60 s, the retention of its queue"}
    assert low.event["group_key"] == "k"
    assert claims.payloads == ["claimed"]
    assert await expire_messages(queue.conn, 100) == 0


async def test_expiry_goes_in_batches_and_spares_queues_without_a_retention(queue: Queue) -> None:
    await queue.send(*range(25))
    await wait_longer(queue, 10_000)
    assert await expire_messages(queue.conn, 10) == 0
    await set_rules(queue, QueueRules(message_retention_secs=1))
    assert [await expire_messages(queue.conn, 10) for _ in range(4)] == [10, 10, 5, 0]
    assert await queue.counts() == (0, 0, 0, 25)


# Dead letters.


async def bury(queue: Queue, count: int) -> list[DeadLetterId]:
    await queue.send(*range(count))
    await set_rules(queue, QueueRules(message_retention_secs=1))
    await wait_longer(queue, 10)
    assert await expire_messages(queue.conn, 1000) == count
    await set_rules(queue, QueueRules())
    return [letter.id for letter in reversed(await dead(queue))]


async def grow_old(queue: Queue, seconds: float) -> None:
    await queue.conn.execute(
        "update dead_letters set died_at = died_at - make_interval(secs => %(s)s), "
        "resolved_at = resolved_at - make_interval(secs => %(s)s)",
        {"s": seconds},
    )


async def test_resolved_dead_letters_go_after_their_time_and_open_ones_stay(queue: Queue) -> None:
    letters = await bury(queue, 5)
    for letter in letters[:3]:
        await discard_dead_letter(queue.conn, queue.app.id, letter, by="ann")
    await grow_old(queue, 2 * 86400)
    await discard_dead_letter(queue.conn, queue.app.id, letters[3], by="ann")
    assert await prune_dead_letters(queue.conn, 2, keep_days=1) == 2
    assert await prune_dead_letters(queue.conn, 2, keep_days=1) == 1
    assert await prune_dead_letters(queue.conn, 2, keep_days=1) == 0
    assert sorted(letter.id for letter in await dead(queue, resolved=True)) == sorted(letters[3:])


async def test_a_queues_own_retention_holds_for_open_and_resolved_ones_alike(queue: Queue) -> None:
    letters = await bury(queue, 3)
    await discard_dead_letter(queue.conn, queue.app.id, letters[0], by="ann")
    await set_rules(queue, QueueRules(dead_retention_secs=3 * 86400))
    await grow_old(queue, 2 * 86400)
    assert await prune_dead_letters(queue.conn, 10, keep_days=1) == 0
    await grow_old(queue, 2 * 86400)
    assert await prune_dead_letters(queue.conn, 10, keep_days=1000) == 3


# Scripts and tokens.


async def test_the_last_versions_of_a_script_stay(queue: Queue) -> None:
    for n in range(6):
        work = await put_script(queue.conn, queue.app.id, "work", f"def handle(event, ctx):\n    return {n}\n")
    other = await put_script(queue.conn, queue.app.id, "other", "def handle(event, ctx): pass\n")
    assert await prune_script_versions(queue.conn, 2, keep=3) == 2
    assert await prune_script_versions(queue.conn, 2, keep=3) == 1
    assert await prune_script_versions(queue.conn, 2, keep=3) == 0
    versions = await list_script_versions(queue.conn, work.script.id)
    assert [version.version for version in versions] == [6, 5, 4]
    assert len(await list_script_versions(queue.conn, other.script.id)) == 1


async def test_tokens_that_expired_a_day_ago_go(conn: Connection) -> None:
    for name in ("old", "just now", "valid", "for ever"):
        await create_token(conn, name)
    await conn.execute("update tokens set expires_at = now() - interval '25 h' where name = 'old'")
    await conn.execute("update tokens set expires_at = now() - interval '1 h' where name = 'just now'")
    await conn.execute("update tokens set expires_at = now() + interval '1 h' where name = 'valid'")
    assert await prune_tokens(conn, 10) == 1
    cur = await conn.execute("select count(*) from tokens where name = 'old'")
    assert await cur.fetchone() == (0,)


# The database.


async def test_one_session_leads_until_it_ends(database: str, conn: Connection) -> None:
    other = await connect(database)
    assert await try_lead(other)
    assert not await try_lead(conn)
    await other.close()
    with trio.fail_after(10):
        while not await try_lead(conn):
            await trio.sleep(0.01)


async def test_an_open_snapshot_is_named_with_pid_application_and_age(database: str, conn: Connection) -> None:
    other = await connect(database, autocommit=False, application_name="a report")
    assert [pin for pin in await list_pins(conn, older_than=0.0) if pin.application == "a report"] == []
    await other.execute("set transaction isolation level repeatable read")
    await other.execute("select 1 from apps")
    cur = await other.execute("select pg_backend_pid()::text")
    row = await cur.fetchone()
    assert row is not None
    (pin,) = [pin for pin in await list_pins(conn, older_than=0.0) if pin.application == "a report"]
    assert pin == Pin("session", row[0], "a report", pin.age_secs)
    assert pin.age_secs is not None
    assert 0 <= pin.age_secs < 60
    assert await list_pins(conn, older_than=3600.0) == []
    await other.close()


async def test_a_table_of_dead_rows_is_named(queue: Queue) -> None:
    conn = queue.conn
    await conn.execute("alter table queue_messages set (autovacuum_enabled = off)")
    await queue.send(*range(300))
    await conn.execute("delete from queue_messages where payload::text::int < 250")
    await conn.execute("select pg_stat_force_next_flush()")
    with trio.fail_after(10):
        while not (found := await list_bloated(conn, least=100, patience=0.0)):
            await trio.sleep(0.02)
    assert [(table.table_name, table.dead) for table in found] == [("queue_messages", 250)]
    assert await list_bloated(conn, least=251, patience=0.0) == []


# Known failure 16: what is done with leaves no row that slows anything down, and history has an end.
async def test_a_whole_sweep_on_a_real_database(database: str, queue: Queue) -> None:
    await queue.send(*range(5))
    await queue.claim(0, done=await queue.claim(10))
    cur = await queue.conn.execute("select count(*) from queue_messages")
    assert await cur.fetchone() == (0,)
    cur = await queue.conn.execute("select make_day_partition('executions', 'id', current_date - 30)")
    old_day = await cur.fetchone()
    assert old_day is not None
    await bury(queue, 3)
    await set_rules(queue, QueueRules(message_retention_secs=1, dead_retention_secs=3600))
    await queue.send(1, 2)
    await wait_longer(queue, 10)
    await queue.conn.execute("update dead_letters set died_at = died_at - interval '2 h'")
    retention = Retention(executions_days=14, dead_letters_days=30, script_versions=100, pin_warning=300)
    janitor = Janitor(lambda: open_janitor_store(lambda: connect(database), retention, locks=True), JanitorConfig())
    async with open_janitor_store(lambda: connect(database), retention, locks=True) as store:
        assert await store.try_lead()
        swept = await janitor.sweep(store)
    assert (swept.expired_messages, swept.dead_letters, swept.partitions) == (2, 3, old_day)
    assert await queue.counts() == (0, 0, 0, 2)


# Defaults.


async def test_a_queues_default_attempts_hold_for_every_way_to_send(queue: Queue) -> None:
    await queue.bind(retry_max_attempts=4)
    await queue.send("trigger's")
    await set_rules(queue, QueueRules(default_max_attempts=7))
    await insert_messages(queue.conn, queue.app.id, [message(payload=n) for n in range(2)])
    await insert_messages(queue.conn, queue.app.id, [message(payload="own", max_attempts=2)])
    await insert_messages(queue.conn, queue.app.id, [message(payload="key", dedup_key="k"), message(payload="x")])
    claims = await queue.claim(100)
    effect = Effect(claims.ids[0], message(payload="effect"))
    attempts = {m.payload: m.max_attempts for m in claims.pulled.messages}
    assert attempts == {"trigger's": 4, 0: 7, 1: 7, "own": 2, "key": 7, "x": 7}
    await queue.claim(done=claims, effects=[effect])
    (after,) = (await queue.claim()).pulled.messages
    assert (after.payload, after.max_attempts) == ("effect", 7)
