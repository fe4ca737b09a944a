"""Dead letters fan out to the triggers that want them, and never twice."""

from __future__ import annotations

import json

import pytest
from outbox_probes import Outbox
from queue_probes import Queue, new_queue

from picloud.db.connection import Connection
from picloud.db.dead_letter_triggers import insert_dead_letter_trigger
from picloud.db.dead_letters import Replay, list_dead_letters, replay_dead_letter, replay_dead_letters
from picloud.db.messages import dead_letter_messages, reclaim_messages
from picloud.db.outbox import bury_deliveries, reclaim_deliveries
from picloud.db.scripts import put_script
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.errors import AlreadyReplayed, Conflict


async def bury(queue: Queue, *payloads: object) -> None:
    await queue.send(*payloads)
    claimed = await queue.claim()
    failures = [(row_id, json.dumps({"type": "ValueError", "message": "no"})) for row_id in claimed.ids]
    await dead_letter_messages(queue.conn, claimed.token, failures, trigger_id=None, script_name="work")


async def queue_with_trigger(conn: Connection, **wanted: str) -> Queue:
    queue = await new_queue(conn)
    await put_script(conn, queue.app.id, "mourn", "def handle(event, ctx): pass")
    await insert_dead_letter_trigger(conn, queue.app.id, DeadLetterTriggerSpec("mourn", **wanted))
    return queue


async def test_new_dead_letter_becomes_one_delivery_per_trigger_that_wants_it(conn: Connection) -> None:
    queue = await queue_with_trigger(conn)
    await insert_dead_letter_trigger(
        conn, queue.app.id, DeadLetterTriggerSpec("mourn", queue_name="jobs", source="queue")
    )
    await insert_dead_letter_trigger(conn, queue.app.id, DeadLetterTriggerSpec("mourn", queue_name="other"))
    await insert_dead_letter_trigger(conn, queue.app.id, DeadLetterTriggerSpec("mourn", source="cron"))
    await insert_dead_letter_trigger(conn, queue.app.id, DeadLetterTriggerSpec("mourn", enabled=False))
    await bury(queue, {"n": 1})
    deliveries = (await Outbox(conn).pull()).deliveries
    assert len(deliveries) == 2
    (dead,) = await list_dead_letters(conn, queue.app.id)
    for delivery in deliveries:
        assert delivery.source_kind == "dead_letter"
        assert delivery.script_name == "mourn"
        assert delivery.event["dead_letter_id"] == str(dead.id)
        assert delivery.event["original"]["payload"] == {"n": 1}
        assert delivery.event["error"]["type"] == "ValueError"
        assert (delivery.attempt, delivery.max_attempts, delivery.trigger_depth) == (1, 3, 1)


async def test_expired_leases_fan_out_too_and_other_apps_hear_nothing(conn: Connection) -> None:
    queue, other = await queue_with_trigger(conn), await queue_with_trigger(conn)
    await queue.send("poison", max_attempts=1)
    await queue.claim()
    await queue.age_claims(60)
    await reclaim_messages(conn, default_timeout_secs=30, limit=10)
    (delivery,) = (await Outbox(conn).pull()).deliveries
    assert delivery.app_id == queue.app.id != other.app.id


async def test_batch_of_failing_dead_letter_handlers_is_recorded_and_never_fans_out_again(conn: Connection) -> None:
    outbox, queue = Outbox(conn), await queue_with_trigger(conn)
    await bury(queue, 1, 2, 3)
    batch = await outbox.pull()
    assert await bury_deliveries(conn, batch.token, [(row_id, "{}") for row_id in batch.ids]) == 3
    assert await outbox.count() == 0
    newest = (await list_dead_letters(conn, queue.app.id))[:3]
    # newest first: ids that the database made are in the order of time, too
    assert [(letter.source, letter.script_name) for letter in newest] == [("dead_letter", "mourn")] * 3


async def test_dead_letter_handler_whose_node_died_does_not_fan_out_either(conn: Connection) -> None:
    outbox, queue = Outbox(conn), await queue_with_trigger(conn)
    await bury(queue, 1)
    await conn.execute("update outbox set max_attempts = 1")
    await outbox.pull()
    await outbox.age_claims(120)
    assert await reclaim_deliveries(conn, timeout_secs=60, limit=10) == (0, 1)
    assert await outbox.count() == 0


@pytest.mark.parametrize("source", ["invoke", "cron", "email"])
async def test_failed_rows_of_every_other_kind_fan_out(conn: Connection, source: str) -> None:
    outbox, queue = Outbox(conn), await queue_with_trigger(conn, source=source)
    await insert_dead_letter_trigger(conn, queue.app.id, DeadLetterTriggerSpec("mourn", source="queue"))
    await outbox.invoke(queue.app.id, 2, depth=4)
    await conn.execute("update outbox set source_kind = %s", (source,))
    batch = await outbox.pull()
    await bury_deliveries(conn, batch.token, [(batch.ids[0], '{"message": "no"}')])
    (heard,) = (await outbox.pull()).deliveries
    assert (heard.source_kind, heard.event["original"]["body"], heard.trigger_depth) == ("dead_letter", 0, 5)
    # and those whose node died
    await outbox.age_claims(120)
    assert await reclaim_deliveries(conn, timeout_secs=60, limit=10) == (1, 1)
    fanned_out = (await outbox.pull()).deliveries
    assert sorted(one.event["original"]["body"] for one in fanned_out) == [0, 1]


async def test_dead_letter_of_an_invocation_is_replayed_and_that_of_a_dead_letter_handler_is_not(
    conn: Connection,
) -> None:
    outbox, queue = Outbox(conn), await queue_with_trigger(conn)
    await outbox.invoke(queue.app.id, depth=2)
    failed = await outbox.pull()
    await bury_deliveries(conn, failed.token, [(failed.ids[0], "{}")])
    # its death fires the trigger, whose handler fails, too
    mourning = await outbox.pull()
    await bury_deliveries(conn, mourning.token, [(mourning.ids[0], "{}")])
    newest, oldest = await list_dead_letters(conn, queue.app.id)
    assert (newest.source, oldest.source) == ("dead_letter", "invoke")

    (replayed,), _ = await replay_dead_letters(conn, queue.app.id, Replay("ann"))
    assert (replayed.dead_letter_id, replayed.queue_name) == (oldest.id, None)
    (again,) = (await outbox.pull()).deliveries
    assert (again.id, again.script_name, again.event) == (
        replayed.message_id,
        "later",
        {"body": 0, "caller": "main"},
    )
    assert (again.source_kind, again.trigger_depth, again.max_attempts) == ("invoke", 2, 1)
    with pytest.raises(Conflict, match="discard it"):
        await replay_dead_letter(conn, queue.app.id, newest.id, Replay("ann"))
    with pytest.raises(AlreadyReplayed):
        await replay_dead_letter(conn, queue.app.id, oldest.id, Replay("ann"))
