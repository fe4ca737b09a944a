"""Cron triggers on a real database: what is due fires once, whoever looks and however often."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import trio
from outbox_probes import Outbox
from psycopg.conninfo import make_conninfo
from uuid_utils.compat import uuid7

from picloud.catch_up import CatchUp
from picloud.cron_spec import CronTriggerSpec
from picloud.db.apps import delete_app, insert_app
from picloud.db.connection import Connection, connect
from picloud.db.cron import CronTrigger, get_cron_trigger, insert_cron_trigger, list_cron_triggers, update_cron_trigger
from picloud.db.cron_fires import Fired, find_next_due, fire_due, prune_fires
from picloud.db.dead_letters import Replay, list_dead_letters, replay_dead_letter
from picloud.db.embedded import EmbeddedPostgres
from picloud.db.messages import list_messages
from picloud.db.outbox import Delivery, bury_deliveries
from picloud.db.pool import Pool
from picloud.db.scripts import delete_script, put_script
from picloud.db.triggers import QueueTriggerSettings, delete_trigger, insert_queue_trigger, lock_trigger
from picloud.errors import DatabaseUnavailable, InvalidInput, InvalidName, InvalidPayload, ScriptInUse, ScriptNotFound
from picloud.types import App

DATABASE = "test_cron"
HANG_LIMIT = 30.0
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def cron_database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A database for all tests of this file: making one takes longer than most of them."""
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute(f"create database {DATABASE} template picloud_template strategy file_copy")
        yield make_conninfo(postgres.dsn, dbname=DATABASE)
        conn.execute(f"drop database {DATABASE} with (force)")


@pytest.fixture
def database(cron_database: str) -> Iterator[str]:
    """The dsn of a database without a row."""
    yield cron_database
    with psycopg.connect(cron_database, autocommit=True) as conn:
        # what hangs on an app goes with it
        conn.execute("delete from triggers")
        conn.execute("delete from apps")


def spec(schedule: str = "* * * * *", **more: Any) -> CronTriggerSpec:
    return CronTriggerSpec(schedule, **({} if "queue_name" in more else {"script": "report"}), **more)


async def new_app(conn: Connection) -> App:
    app = await insert_app(conn, f"app-{uuid7()}")
    await put_script(conn, app.id, "report", "def handle(event, ctx): pass")
    return app


async def make_due(conn: Connection, trigger: CronTrigger, late: timedelta) -> datetime:
    """As if no node had run for so long; return the first time that was missed."""
    cur = await conn.execute(
        "update cron_trigger_details set next_fire_at = next_fire_at - %s where trigger_id = %s returning next_fire_at",
        [late, trigger.id],
    )
    row = await cur.fetchone()
    assert row is not None
    first: datetime = row[0]
    return first


async def fire(conn: Connection) -> Fired:
    return await fire_due(conn, limit=100)


async def claim(conn: Connection) -> list[Delivery]:
    return (await Outbox(conn).pull(5000)).deliveries


async def test_due_trigger_becomes_one_delivery_and_is_due_again_at_its_next_time(conn: Connection) -> None:
    app = await new_app(conn)
    made = await insert_cron_trigger(
        conn, app.id, spec("0 * * * *", timezone="Europe/Berlin", payload={"n": 1}, retry_max_attempts=5)
    )
    assert made.next_fires[0] == made.next_fire_at
    assert len(made.next_fires) == 5
    assert (await fire(conn)).triggers == 0
    due_in = await find_next_due(conn)
    assert due_in is not None
    assert 0 < due_in <= 3600
    first = await make_due(conn, made, timedelta(hours=1))
    assert (await find_next_due(conn) or 0) < 0
    fired = await fire(conn)
    assert (fired.triggers, fired.fires, fired.deliveries, fired.left_out) == (1, 1, 1, 0)
    (delivery,) = await claim(conn)
    assert (delivery.source_kind, delivery.script_name, delivery.attempt) == ("cron", "report", 1)
    assert (delivery.max_attempts, delivery.trigger_depth) == (5, 0)
    assert delivery.event["payload"] == {"n": 1}
    shown = datetime.fromisoformat(delivery.event["scheduled_for"])
    assert shown == first
    # as the zone's clock shows it
    assert shown.utcoffset() in (timedelta(hours=1), timedelta(hours=2))
    after = await get_cron_trigger(conn, app.id, made.id)
    assert after.next_fire_at == made.next_fire_at
    assert after.last_fired_at is not None
    assert (await fire(conn)).triggers == 0


async def test_scheduled_message_has_the_settings_of_its_queue(conn: Connection) -> None:
    app = await new_app(conn)
    await insert_queue_trigger(conn, app.id, "report", "jobs", QueueTriggerSettings(retry_max_attempts=7))
    made = await insert_cron_trigger(conn, app.id, spec(queue_name="jobs", payload={"big": 2**60, "text": "é\u2028"}))
    await make_due(conn, made, MINUTE)
    fired = await fire(conn)
    assert (fired.fires, fired.deliveries) == (1, 0)
    ((sent,),) = [one.sent for one in fired.sent]
    (message,) = await list_messages(conn, app.id, "jobs")
    assert (message.id, message.max_attempts) == (sent.id, 7)
    assert message.payload == {"big": 2**60, "text": "é\u2028"}
    assert await claim(conn) == []


# Known failure 27: what an outage missed is made up for as the trigger says, by default once.


@pytest.mark.parametrize(("policy", "count"), [("skip", 0), ("one", 1), ("all", 10)])
async def test_after_an_outage_each_policy_does_what_it_says(conn: Connection, policy: CatchUp, count: int) -> None:
    app = await new_app(conn)
    made = await insert_cron_trigger(conn, app.id, spec("0 0 * * *", catch_up=policy, catch_up_limit=10))
    first = await make_due(conn, made, timedelta(days=12))
    fired = await fire(conn)
    moments = [datetime.fromisoformat(delivery.event["scheduled_for"]) for delivery in await claim(conn)]
    # skip: the last midnight may be within the grace only in the first minute of a day
    assert len(moments) == fired.fires == count or (policy == "skip" and datetime.now(UTC).hour == 0)
    assert fired.left_out == 1
    if moments:
        assert moments == [first + timedelta(days=day) for day in range(12 - count, 12)]
    # and never again
    assert (await fire(conn)).triggers == 0


# Known failure 26: two nodes look at the same moment.


async def test_nodes_that_look_at_once_fire_each_time_once(conn: Connection, database: str) -> None:
    app = await new_app(conn)
    for number in range(120):
        queue = {"queue_name": f"q{number % 7}"} if number % 2 else {}
        made = await insert_cron_trigger(conn, app.id, spec(catch_up="all", catch_up_limit=3, payload=number, **queue))
        await make_due(conn, made, 3 * MINUTE)
    results: list[Fired] = []

    async def look(node: Connection) -> None:
        for _ in range(5):
            results.append(await fire_due(node, limit=17))

    nodes = [await connect(database) for _ in range(4)]
    with trio.fail_after(HANG_LIMIT):
        async with trio.open_nursery() as nursery:
            for node in nodes:
                nursery.start_soon(look, node)
        for node in nodes:
            await node.close()
    while (last := await fire(conn)).triggers:
        results.append(last)
    assert sum(result.triggers for result in results) == 120
    assert sum(result.fires for result in results) == 360
    deliveries = await claim(conn)
    seen = [(delivery.event["payload"], delivery.event["scheduled_for"]) for delivery in deliveries]
    assert len(seen) == len(set(seen)) == 180
    cur = await conn.execute("select payload, count(*) from queue_messages group by payload")
    assert {row[0]: row[1] for row in await cur.fetchall()} == dict.fromkeys(range(1, 120, 2), 3)


async def test_what_was_fired_for_is_not_fired_for_again_even_when_the_trigger_is_set_back(conn: Connection) -> None:
    app = await new_app(conn)
    made = await insert_cron_trigger(conn, app.id, spec(catch_up="all"))
    await make_due(conn, made, 3 * MINUTE)
    assert (await fire(conn)).fires == 3
    # a database that was restored, or a node whose rows are older than it thinks
    await make_due(conn, made, 5 * MINUTE)
    fired = await fire(conn)
    assert (fired.triggers, fired.fires) == (1, 2)
    assert len(await claim(conn)) == 5


async def test_fire_that_is_cut_off_left_nothing_and_is_done_by_the_next(conn: Connection, database: str) -> None:
    app = await new_app(conn)
    for target in ({}, {"queue_name": "jobs"}):
        await make_due(conn, await insert_cron_trigger(conn, app.id, spec(**target)), MINUTE)
    dying = await connect(database)
    with pytest.raises(RuntimeError):  # noqa: PT012
        async with dying.transaction():
            assert (await fire_due(dying, limit=10)).fires == 2
            # what it holds is left to it, and nobody waits for it
            assert (await fire(conn)).triggers == 0
            raise RuntimeError("kill -9 looks like this to the database")
    await dying.close()
    assert (await fire(conn)).fires == 2
    assert len(await claim(conn)) == len(await list_messages(conn, app.id, "jobs")) == 1


async def test_node_that_stands_still_in_the_middle_loses_what_it_holds(conn: Connection, database: str) -> None:
    app = await new_app(conn)
    await make_due(conn, await insert_cron_trigger(conn, app.id, spec()), MINUTE)
    frozen = await connect(database)
    with pytest.raises(DatabaseUnavailable):  # noqa: PT012
        async with frozen.transaction():
            assert (await fire_due(frozen, limit=10, patience=0.1)).fires == 1
            with trio.fail_after(HANG_LIMIT):
                while not (await fire(conn)).triggers:
                    await trio.sleep(0.02)
            await find_next_due(frozen)
    await frozen.close()
    assert len(await claim(conn)) == 1
    # the setting is that of the transaction alone: other users of the connection may take their time
    await fire(conn)
    assert await (await conn.execute("show idle_in_transaction_session_timeout")).fetchone() == ("0",)


async def test_changes_and_deletions_in_the_middle_of_a_fire_wait_and_do_not_deadlock(
    conn: Connection, pool: Pool
) -> None:
    app, other = await new_app(conn), await new_app(conn)
    held = await insert_cron_trigger(conn, app.id, spec())
    doomed = await insert_cron_trigger(conn, other.id, spec())
    for trigger in (held, doomed):
        await make_due(conn, trigger, MINUTE)

    async def change() -> None:
        async with pool.transaction() as second:
            await lock_trigger(second, app.id, held.id)
            # what somebody holds who changes it is left out, not waited for
            assert (await fire(conn)).fires == 1
            await update_cron_trigger(second, app.id, held.id, spec("0 0 1 1 *"))

    async def delete() -> None:
        async with pool.connection() as third:
            await delete_app(third, other.name)

    with trio.fail_after(HANG_LIMIT):
        await change()
        await make_due(conn, held, timedelta(days=500))
        async with conn.transaction():
            assert (await fire(conn)).fires == 1
            async with trio.open_nursery() as nursery:
                nursery.start_soon(delete)
                assert (await fire(conn)).triggers == 0
    assert await list_cron_triggers(conn, other.id) == []


# Changing triggers.


async def test_other_changes_keep_what_is_due_and_another_schedule_counts_from_now(conn: Connection) -> None:
    app = await new_app(conn)
    made = await insert_cron_trigger(conn, app.id, spec())
    first = await make_due(conn, made, MINUTE)
    changed = await update_cron_trigger(conn, app.id, made.id, spec(payload=[1], catch_up="all"))
    assert (changed.next_fire_at, changed.payload, changed.catch_up) == (first, [1], "all")
    changed = await update_cron_trigger(conn, app.id, made.id, spec("0 0 * * *", timezone="Asia/Tokyo"))
    assert changed.next_fire_at is not None
    assert (changed.next_fire_at > datetime.now(UTC), changed.next_fire_at.astimezone(UTC).hour) == (True, 15)
    # from a script to a queue and back
    changed = await update_cron_trigger(conn, app.id, made.id, spec("0 0 * * *", queue_name="jobs"))
    assert (changed.script_name, changed.script_id, changed.queue_name) == (None, None, "jobs")
    changed = await update_cron_trigger(conn, app.id, made.id, spec("0 0 * * *"))
    assert (changed.script_name, changed.queue_name) == ("report", None)


async def test_disabled_trigger_is_never_due_and_makes_up_for_nothing_when_it_is_enabled(conn: Connection) -> None:
    app = await new_app(conn)
    made = await insert_cron_trigger(conn, app.id, spec(enabled=False, catch_up="all"))
    assert (made.next_fire_at, made.next_fires) == (None, [])
    assert await find_next_due(conn) is None
    changed = await update_cron_trigger(conn, app.id, made.id, spec(catch_up="all"))
    assert changed.next_fire_at is not None
    # disabled by hand, in the database
    await make_due(conn, changed, timedelta(days=1))
    await conn.execute("update triggers set enabled = false where id = %s", [made.id])
    assert await find_next_due(conn) is None
    assert (await fire(conn)).triggers == 0


async def test_trigger_that_this_node_cannot_read_strands_no_other(conn: Connection) -> None:
    app = await new_app(conn)
    for number in range(3):
        made = await insert_cron_trigger(conn, app.id, spec(payload=number))
        await make_due(conn, made, MINUTE)
        if number == 0:
            broken = made.id
            await conn.execute("update cron_trigger_details set timezone = 'Mars/Base' where trigger_id = %s", [broken])
    fired = await fire(conn)
    assert (fired.fires, set(fired.broken)) == (2, {broken})
    assert "Mars/Base" in fired.broken[broken]
    assert (await fire_due(conn, limit=10, except_ids=[broken])).triggers == 0
    due_in = await find_next_due(conn, except_ids=[broken])
    assert due_in is not None
    assert due_in > 0
    assert (await get_cron_trigger(conn, app.id, broken)).next_fires[1:] == []


# Known failure 33: a bad target is refused at save.


async def test_bad_target_or_setting_is_refused_and_nothing_is_stored(conn: Connection) -> None:
    app = await new_app(conn)
    bad: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"script": "reprot"}, ScriptNotFound, "no script 'reprot'"),
        ({"queue_name": "a b", "script": None}, InvalidName, "invalid queue name 'a b'"),
        ({"script": None}, InvalidInput, "neither is given"),
        ({"queue_name": "jobs"}, InvalidInput, "both is given"),
        ({"payload": {"note": "a\0b"}}, InvalidPayload, "NUL character at payload.note"),
        ({"catch_up": "everything"}, InvalidInput, "must be one of skip, one, all"),
        ({"catch_up_limit": 0}, InvalidInput, "must be a whole number from 1 to 1000"),
        ({"timezone": "Berlin"}, InvalidInput, "no time zone 'Berlin'"),
    ]
    for wrong, error, says in bad:
        with pytest.raises(error, match=says):
            await insert_cron_trigger(conn, app.id, CronTriggerSpec("@daily", **{"script": "report", **wrong}))
    assert await list_cron_triggers(conn, app.id) == []


async def test_script_that_a_schedule_runs_stays_and_so_does_not_what_was_deleted(conn: Connection) -> None:
    app = await new_app(conn)
    made = await insert_cron_trigger(conn, app.id, spec())
    with pytest.raises(ScriptInUse):
        await delete_script(conn, app.id, "report")
    await make_due(conn, made, MINUTE)
    await fire(conn)
    await delete_trigger(conn, app.id, made.id)
    # what it fired for and was not run yet goes with it
    assert await claim(conn) == []
    await delete_script(conn, app.id, "report")


async def test_failed_run_is_a_dead_letter_that_can_be_replayed(conn: Connection) -> None:
    app = await new_app(conn)
    made = await insert_cron_trigger(conn, app.id, spec(payload={"n": 1}))
    await make_due(conn, made, MINUTE)
    await fire(conn)
    pull = await Outbox(conn).pull()
    (failed,) = pull.deliveries
    await bury_deliveries(conn, pull.token, [(failed.id, json.dumps({"type": "ValueError", "message": "no"}))])
    (dead,) = await list_dead_letters(conn, app.id)
    assert (dead.source, dead.script_name, dead.event) == ("cron", "report", failed.event)
    replayed = await replay_dead_letter(conn, app.id, dead.id, Replay("ann"))
    (again,) = await claim(conn)
    assert (again.id, again.source_kind, again.event) == (replayed.message_id, "cron", failed.event)
    assert (again.max_attempts, again.retry_base_ms) == (3, 1000)


async def test_old_fires_are_forgotten(conn: Connection) -> None:
    app = await new_app(conn)
    made = await insert_cron_trigger(conn, app.id, spec(catch_up="all"))
    await make_due(conn, made, 3 * MINUTE)
    await fire(conn)
    assert await prune_fires(conn, older_than=60.0, limit=100) == 0
    await conn.execute("update cron_fires set fired_at = fired_at - interval '1 hour'")
    assert await prune_fires(conn, older_than=60.0, limit=2) == 2
    assert await prune_fires(conn, older_than=60.0, limit=2) == 1


async def test_triggers_that_are_not_due_cost_nothing(conn: Connection) -> None:
    """Known failure: a scheduler that reads every trigger at each look."""
    app = await new_app(conn)
    await conn.execute(
        """with made as (
             insert into triggers (id, app_id, script_id, kind)
             select gen_random_uuid(), %(app)s, s.id, 'cron' from scripts s, generate_series(1, 4000)
              where s.app_id = %(app)s
             returning id)
           insert into cron_trigger_details (trigger_id, schedule, timezone, payload, next_fire_at)
           select id, '@daily', 'UTC', 'null', now() + interval '1 day' from made""",
        {"app": app.id},
    )
    await conn.execute("analyze")
    from picloud.db.sqlfile import load

    sql = load("cron")
    for statement in (sql.claim_due_triggers, sql.find_next_due):
        values = {"except_ids": [], "limit": 500, "patience_ms": 10_000}
        cur = await conn.execute(f"explain (analyze, format json) {statement}", values)  # type: ignore[arg-type]
        row = await cur.fetchone()
        assert row is not None
        plan = json.dumps(row[0])
        assert "cron_trigger_details_due" in plan
        assert '"Seq Scan"' not in plan.replace('"Relation Name": "apps"', "")
        assert largest_row_count(row[0][0]["Plan"]) <= 2


def largest_row_count(plan: dict[str, Any]) -> int:
    return max(int(plan["Actual Rows"]), *(largest_row_count(part) for part in plan.get("Plans", [])), 0)
