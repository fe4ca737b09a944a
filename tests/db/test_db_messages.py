"""The queue's statements against a real PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import trio
from queue_probes import Queue, message, new_queue
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection, connect
from picloud.db.dead_letters import (
    DeadLetterFilter,
    Replay,
    get_dead_letter,
    list_dead_letters,
    replay_dead_letter,
    replay_dead_letters,
)
from picloud.db.messages import (
    Effect,
    LowWater,
    Settlement,
    dead_letter_messages,
    delete_message,
    error_json,
    extend_leases,
    get_message,
    insert_messages,
    list_due_queues,
    list_messages,
    nack_messages,
    pull_messages,
    reclaim_messages,
    release_messages,
)
from picloud.db.queues import get_depth
from picloud.errors import AlreadyReplayed, DeadLetterNotFound, MessageNotFound, QueueNotFound
from picloud.types import ClaimToken, DeadLetterId, MessageId, ScriptError


@pytest.fixture
async def queue(conn: Connection) -> Queue:
    return await new_queue(conn)


# Sending.


async def test_messages_come_out_as_they_were_sent(queue: Queue) -> None:
    payload = {"text": "emoji 🙂 and ümläut", "big": 2**60 + 1, "nested": [{"a": None}, True, 1.5, "\\u0000"]}
    await queue.send(payload)
    assert (await queue.claim()).payloads == [payload]


async def test_ready_order_is_priority_then_due_time_then_id(queue: Queue) -> None:
    await insert_messages(
        queue.conn,
        queue.app.id,
        [message(payload=n, priority=p) for n, p in [(0, 0), (1, 9), (2, 5), (3, 9), (4, 0)]],
    )
    await insert_messages(queue.conn, queue.app.id, [message(payload=5, priority=9)])
    assert (await queue.claim()).payloads == [1, 3, 5, 2, 0, 4]


async def test_delayed_message_is_not_claimed_before_its_time(queue: Queue) -> None:
    await queue.send("late", delay=60.0, priority=9)
    await queue.send("later", deliver_after=datetime.now(UTC) + timedelta(hours=1))
    sent = await queue.send("now")
    assert sent[0].due_in == 0
    assert (await queue.claim()).payloads == ["now"]
    assert await queue.counts() == (0, 2, 1, 0)


async def test_dedup_key_yields_the_first_messages_id_and_never_stops_the_others(queue: Queue) -> None:
    first, again, other = await insert_messages(
        queue.conn,
        queue.app.id,
        [message(payload=1, dedup_key="k"), message(payload=2, dedup_key="k"), message(payload=3)],
    )
    (later,) = await queue.send(4, dedup_key="k")
    assert (first.is_new, again.is_new, other.is_new, later.is_new) == (True, False, True, False)
    assert first.id == again.id == later.id
    done = await queue.claim()
    assert done.payloads == [1, 3]
    await queue.claim(done=done)
    (free,) = await queue.send(5, dedup_key="k")
    assert free.is_new


async def test_same_dedup_key_in_two_queues_is_two_messages(queue: Queue) -> None:
    sent = await insert_messages(queue.conn, queue.app.id, [message("a", dedup_key="k"), message("b", dedup_key="k")])
    assert [one.is_new for one in sent] == [True, True]


async def test_racing_senders_of_one_dedup_key_agree_on_one_message(database: str, queue: Queue) -> None:
    ids = set()

    async def send() -> None:
        other = await connect(database)
        try:
            for sent in await insert_messages(other, queue.app.id, [message(dedup_key="k")]):
                ids.add(sent.id)
        finally:
            await other.close()

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(send)
    assert len(ids) == 1
    assert await queue.counts() == (1, 0, 0, 0)


async def test_max_attempts_come_from_the_message_else_the_trigger_else_three(queue: Queue) -> None:
    await queue.send("before")
    await queue.bind(retry_max_attempts=7)
    await queue.send("after")
    await queue.send("own", max_attempts=2)
    claimed = await queue.claim()
    assert [(m.payload, m.max_attempts) for m in claimed.pulled.messages] == [("before", 3), ("after", 7), ("own", 2)]


# Claiming and settling.


async def test_queue_receive_acks_on_success(queue: Queue) -> None:
    await queue.send(1, 2)
    done = await queue.claim()
    assert [m.attempt for m in done.pulled.messages] == [1, 1]
    after = await queue.claim(done=done)
    assert after.pulled.acked == 2
    assert await queue.counts() == (0, 0, 0, 0)


async def test_claims_never_cross_apps_or_queues(conn: Connection) -> None:
    one, two = await new_queue(conn), await new_queue(conn)
    await one.send("one")
    await two.send("two")
    other = Queue(conn, one.app, "other")
    assert (await other.claim()).payloads == []
    assert (await one.claim()).payloads == ["one"]


async def test_stale_acknowledgement_deletes_nothing_and_drops_its_effects(queue: Queue) -> None:
    await queue.send(1)
    stale = await queue.claim()
    assert await release_messages(queue.conn, stale.token, stale.ids) == 1
    current = await queue.claim()
    effect = Effect(stale.ids[0], message("out"))
    assert (await queue.claim(done=stale, effects=[effect])).pulled.acked == 0
    assert await queue.counts("out") == (0, 0, 0, 0)
    assert await queue.counts() == (0, 0, 1, 0)
    effect = Effect(current.ids[0], message("out"))
    assert (await queue.claim(done=current, effects=[effect])).pulled.acked == 1
    assert await queue.counts("out") == (1, 0, 0, 0)


async def test_effects_join_only_the_causes_that_were_acknowledged(queue: Queue) -> None:
    await queue.send(1, 2)
    done = await queue.claim()
    effects = [Effect(done.ids[0], message("out", 1)), Effect(MessageId(uuid7()), message("out", 2))]
    await queue.claim(done=done, effects=effects)
    assert await queue.counts("out") == (1, 0, 0, 0)


async def test_limit_zero_only_settles(queue: Queue) -> None:
    await queue.send(1, 2)
    done = await queue.claim(1)
    after = await queue.claim(0, done=done)
    assert (after.payloads, after.pulled.acked) == ([], 1)


async def test_low_water_marks_hide_nothing_once_they_are_reset(queue: Queue) -> None:
    marks = LowWater()
    await queue.send(*range(3))
    claimed = await queue.claim(low_water=marks)
    marks.advance(claimed.pulled.messages)
    await queue.conn.execute("update queue_messages set deliver_after = now() - interval '1 hour', claim_token = null")
    assert (await queue.claim(low_water=marks)).payloads == []
    assert marks.reset()
    assert (await queue.claim(low_water=marks)).payloads == [0, 1, 2]
    assert not marks.reset()


async def test_competing_consumers_claim_each_message_once_and_never_deadlock(database: str, queue: Queue) -> None:
    await queue.send(*range(2000))
    taken: list[int] = []

    async def consume() -> None:
        conn = await connect(database)
        try:
            done = await queue.claim(25, conn=conn)
            while done.ids:
                taken.extend(done.payloads)
                done = await queue.claim(25, done=done, conn=conn)
        finally:
            await conn.close()

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for _ in range(12):
                nursery.start_soon(consume)
    assert sorted(taken) == list(range(2000))
    assert await queue.counts() == (0, 0, 0, 0)


# Failing.


async def test_nack_waits_by_the_databases_clock_and_keeps_the_attempt(queue: Queue) -> None:
    await queue.send("a", "b")
    claimed = await queue.claim()
    assert await nack_messages(queue.conn, claimed.token, [(claimed.ids[0], 0.0), (claimed.ids[1], 60_000.0)]) == 2
    assert await queue.counts() == (1, 1, 0, 0)
    (again,) = (await queue.claim()).pulled.messages
    assert (again.payload, again.attempt) == ("a", 2)


async def test_released_message_was_not_tried(queue: Queue) -> None:
    await queue.send("a")
    claimed = await queue.claim()
    await release_messages(queue.conn, claimed.token, claimed.ids)
    assert (await queue.claim()).pulled.messages[0].attempt == 1


async def test_every_guarded_write_ignores_a_stale_token(queue: Queue) -> None:
    await queue.send("a")
    claimed = await queue.claim()
    stale = ClaimToken(uuid7())
    assert await nack_messages(queue.conn, stale, [(claimed.ids[0], 0.0)]) == 0
    assert await release_messages(queue.conn, stale, claimed.ids) == 0
    assert await extend_leases(queue.conn, stale, claimed.ids) == 0
    failure = (claimed.ids[0], "{}")
    assert await dead_letter_messages(queue.conn, stale, [failure], trigger_id=None, script_name=None) == 0
    assert await queue.counts() == (0, 0, 1, 0)


async def test_queue_receive_dead_letters_after_max_attempts(queue: Queue) -> None:
    trigger = await queue.bind()
    await queue.send({"n": 1}, priority=4)
    claimed = await queue.claim()
    error = ScriptError("ValueError", "NUL \0 and \ud800 in a text", 3)
    import json

    failure = (claimed.ids[0], json.dumps(error_json(error)))
    died = await dead_letter_messages(queue.conn, claimed.token, [failure], trigger_id=trigger.id, script_name="work")
    assert died == 1
    assert await queue.counts() == (0, 0, 0, 1)
    (dead,) = await list_dead_letters(queue.conn, queue.app.id)
    assert dead.event["payload"] == {"n": 1}
    assert (dead.event["attempt"], dead.event["queue"], dead.event["source"]) == (1, "jobs", "queue")
    assert (dead.reason, dead.attempts, dead.trigger_id) == ("attempts_exhausted", 1, trigger.id)
    assert dead.error is not None
    assert dead.error["type"] == "ValueError"
    assert dead.error["line"] == 3


# Leases.


async def test_queue_visibility_timeout_reclaim(queue: Queue) -> None:
    await queue.bind(visibility_timeout_secs=60)
    await queue.send("a")
    await queue.claim()
    await queue.age_claims(59)
    assert await reclaim_messages(queue.conn, default_timeout_secs=30, limit=100) == []
    await queue.age_claims(2)
    (done,) = await reclaim_messages(queue.conn, default_timeout_secs=30, limit=100)
    assert (done.app_id, done.queue_name, done.released, done.dead) == (queue.app.id, "jobs", 1, 0)
    assert (await queue.claim()).pulled.messages[0].attempt == 2


async def test_extended_lease_is_not_reclaimed(queue: Queue) -> None:
    await queue.bind(visibility_timeout_secs=60)
    await queue.send("a")
    claimed = await queue.claim()
    await queue.age_claims(61)
    assert await extend_leases(queue.conn, claimed.token, claimed.ids) == 1
    assert await reclaim_messages(queue.conn, default_timeout_secs=30, limit=100) == []


async def test_lease_that_runs_out_on_the_last_attempt_is_a_dead_letter(queue: Queue) -> None:
    await queue.bind(visibility_timeout_secs=1)
    await queue.send("poison", max_attempts=2)
    for _ in range(2):
        assert (await queue.claim()).payloads == ["poison"]
        await queue.age_claims(5)
        await reclaim_messages(queue.conn, default_timeout_secs=30, limit=100)
    assert await queue.counts() == (0, 0, 0, 1)
    (dead,) = await list_dead_letters(queue.conn, queue.app.id)
    assert (dead.reason, dead.script_name, dead.attempts) == ("lease_expired", "work", 2)


async def test_reclaim_takes_batches_and_the_default_timeout_where_no_trigger_is_left(queue: Queue) -> None:
    await queue.send(*range(5))
    await queue.claim()
    await queue.age_claims(31)
    assert sum(q.released for q in await reclaim_messages(queue.conn, default_timeout_secs=30, limit=3)) == 3
    assert sum(q.released for q in await reclaim_messages(queue.conn, default_timeout_secs=30, limit=3)) == 2
    assert await queue.counts() == (5, 0, 0, 0)


# Replay.


async def test_replayed_dead_letter_is_a_new_message_with_all_attempts_ahead(queue: Queue) -> None:
    dead = await bury(queue, "x")
    replayed = await replay_dead_letter(queue.conn, queue.app.id, dead, Replay("ann"))
    (again,) = (await queue.claim()).pulled.messages
    assert (again.id, again.payload, again.attempt) == (replayed.message_id, "x", 1)
    assert await queue.counts() == (0, 0, 1, 0)
    with pytest.raises(AlreadyReplayed):
        await replay_dead_letter(queue.conn, queue.app.id, dead, Replay("ann"))
    stored = await get_dead_letter(queue.conn, queue.app.id, dead)
    assert (stored.resolution, stored.replay_message_id) == ("replayed", replayed.message_id)


async def test_replays_at_once_take_each_dead_letter_once(database: str, queue: Queue) -> None:
    for n in range(20):
        await bury(queue, n)
    counts = []

    async def replay() -> None:
        conn = await connect(database)
        try:
            wanted = DeadLetterFilter(queue_name="jobs")
            replayed, _ = await replay_dead_letters(conn, queue.app.id, Replay("ann"), wanted=wanted, limit=20)
            counts.append(len(replayed))
        finally:
            await conn.close()

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(replay)
    assert sum(counts) == 20
    assert sorted((await queue.claim(100)).payloads) == list(range(20))


async def test_unknown_dead_letter_cannot_be_replayed(queue: Queue) -> None:
    with pytest.raises(DeadLetterNotFound):
        await replay_dead_letter(queue.conn, queue.app.id, DeadLetterId(uuid7()), Replay("ann"))


async def bury(queue: Queue, payload: object) -> DeadLetterId:
    (sent,) = await queue.send(payload)
    claimed = await queue.claim()
    await dead_letter_messages(queue.conn, claimed.token, [(sent.id, "{}")], trigger_id=None, script_name=None)
    return DeadLetterId(sent.id)


# Looking.


async def test_counts_are_disjoint_and_of_unknown_queues_an_error(queue: Queue) -> None:
    await queue.send(1, 2, 3)
    await queue.send(4, delay=60)
    await queue.claim(1)
    depth = await get_depth(queue.conn, queue.app.id, "jobs")
    assert (depth.ready, depth.delayed, depth.claimed, depth.dead) == (2, 1, 1, 0)
    assert depth.oldest_ready_age_secs is not None
    with pytest.raises(QueueNotFound):
        await get_depth(queue.conn, queue.app.id, "nowhere")


async def test_due_queues_are_found_with_the_time_of_their_first_message(conn: Connection) -> None:
    one, two, three = [await new_queue(conn, name) for name in ("a", "b", "c")]
    await one.send(1)
    await two.send(1, delay=50)
    await two.send(2, delay=90, priority=9)
    await three.send(1)
    await three.claim()
    due = {(q.app_id, q.queue_name): q.due_in for q in await list_due_queues(conn)}
    assert set(due) == {(one.app.id, "a"), (two.app.id, "b")}
    assert due[one.app.id, "a"] <= 0
    assert 40 < due[two.app.id, "b"] <= 50


async def test_peeking_claims_nothing_and_pages_by_id(queue: Queue) -> None:
    await queue.send(*range(5))
    await queue.send("late", delay=60)
    first = await list_messages(queue.conn, queue.app.id, "jobs", state="ready", limit=3)
    rest = await list_messages(queue.conn, queue.app.id, "jobs", state="ready", after=first[-1].id)
    assert [m.payload for m in [*first, *rest]] == [0, 1, 2, 3, 4]
    assert await queue.counts() == (5, 1, 0, 0)


async def test_claimed_message_cannot_be_deleted(queue: Queue) -> None:
    (sent,) = await queue.send(1)
    claimed = await queue.claim()
    assert not await delete_message(queue.conn, queue.app.id, sent.id)
    await release_messages(queue.conn, claimed.token, claimed.ids)
    assert await delete_message(queue.conn, queue.app.id, sent.id)
    with pytest.raises(MessageNotFound):
        await get_message(queue.conn, queue.app.id, sent.id)


# Plans.


async def test_claim_walks_neither_delayed_rows_nor_the_backlog(queue: Queue) -> None:
    await queue.conn.execute(
        """insert into queue_messages (id, app_id, queue_name, payload, priority, deliver_after)
           select gen_random_uuid(), %s, 'jobs', '{}', case when g %% 2 = 0 then 9 else 0 end,
                  case when g %% 2 = 0 then now() + interval '1 hour' else now() end
             from generate_series(1, 20000) g""",
        (queue.app.id,),
    )
    await queue.conn.execute("vacuum analyze queue_messages")
    await queue.conn.execute("load 'auto_explain'")
    notices: list[str] = []
    queue.conn.add_notice_handler(lambda diagnostic: notices.append(diagnostic.message_primary or ""))
    for setting in ("log_min_duration = 0", "log_analyze = on", "log_buffers = on", "log_nested_statements = on"):
        await queue.conn.execute(f"set auto_explain.{setting}")  # type: ignore[arg-type]
    await queue.conn.execute("set client_min_messages = log")
    token = ClaimToken(uuid7())
    pulled = await pull_messages(
        queue.conn,
        queue.app.id,
        "jobs",
        settle=Settlement(token),
        claim_token=token,
        limit=10,
        low_water=LowWater(),
    )
    assert len(pulled.messages) == 10
    (plan,) = [notice for notice in notices if "claimed" in notice]
    claim = plan[plan.index("CTE claimed") :]
    assert "queue_messages_dispatch" in claim
    assert "Seq Scan on queue_messages" not in claim


async def test_messages_that_are_alike_are_sent_as_the_others_are(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.bind(retry_max_attempts=7)
    alike = await queue.send(1, 2, 3, priority=4)
    (single,) = await queue.send(4, priority=4)
    assert [sent.is_new for sent in [*alike, single]] == [True] * 4
    await queue.send(5, 6, delay=60.0)
    cur = await conn.execute(
        "select payload, priority, max_attempts, attempt, dedup_key, group_key, deliver_after - enqueued_at, "
        "trigger_depth from queue_messages order by id"
    )
    now, later = timedelta(0), timedelta(seconds=60)
    assert await cur.fetchall() == [
        *((n, 4, 7, 0, None, None, now, 0) for n in (1, 2, 3, 4)),
        *((n, 0, 7, 0, None, None, later, 0) for n in (5, 6)),
    ]
