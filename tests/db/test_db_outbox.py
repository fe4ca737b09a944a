"""Dead letters fan out to the triggers that want them, and never twice."""

from __future__ import annotations

import json

import pytest
from queue_probes import Queue, new_queue
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.dead_letter_triggers import insert_dead_letter_trigger
from picloud.db.dead_letters import Replay, list_dead_letters, replay_dead_letter, replay_dead_letters
from picloud.db.messages import dead_letter_messages, reclaim_messages
from picloud.db.outbox import (
    bury_delivery,
    claim_deliveries,
    insert_invocations,
    nack_delivery,
    reclaim_deliveries,
    release_deliveries,
)
from picloud.db.scripts import put_script
from picloud.db.units import finish_delivery
from picloud.errors import AlreadyReplayed, Conflict
from picloud.types import ClaimToken, Effects, NewInvocation


async def bury(queue: Queue, payload: object) -> None:
    (sent,) = await queue.send(payload)
    claimed = await queue.claim()
    failure = (sent.id, json.dumps({"type": "ValueError", "message": "no"}))
    await dead_letter_messages(queue.conn, claimed.token, [failure], trigger_id=None, script_name="work")


async def queue_with_trigger(conn: Connection, **wanted: str) -> Queue:
    queue = await new_queue(conn)
    await put_script(conn, queue.app.id, "mourn", "def handle(event, ctx): pass")
    await insert_dead_letter_trigger(conn, queue.app.id, "mourn", **wanted)
    return queue


async def test_new_dead_letter_becomes_one_delivery_per_trigger_that_wants_it(conn: Connection) -> None:
    queue = await queue_with_trigger(conn)
    await insert_dead_letter_trigger(conn, queue.app.id, "mourn", queue_name="jobs", source="queue")
    await insert_dead_letter_trigger(conn, queue.app.id, "mourn", queue_name="other")
    await insert_dead_letter_trigger(conn, queue.app.id, "mourn", enabled=False)
    await bury(queue, {"n": 1})
    deliveries = await claim_deliveries(conn, ClaimToken(uuid7()), 10)
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
    (delivery,) = await claim_deliveries(conn, ClaimToken(uuid7()), 10)
    assert delivery.app_id == queue.app.id != other.app.id


async def test_failed_delivery_is_recorded_and_never_fans_out_again(conn: Connection) -> None:
    queue = await queue_with_trigger(conn)
    await bury(queue, 1)
    token = ClaimToken(uuid7())
    (delivery,) = await claim_deliveries(conn, token, 10)
    assert await bury_delivery(conn, token, delivery, "{}") == 1
    assert await claim_deliveries(conn, ClaimToken(uuid7()), 10) == []
    newest, _ = await list_dead_letters(conn, queue.app.id)
    assert (newest.source, newest.script_name) == ("dead_letter", "mourn")


async def test_delivery_is_settled_once_with_its_effects(conn: Connection) -> None:
    from queue_probes import message

    queue = await queue_with_trigger(conn)
    await bury(queue, 1)
    token = ClaimToken(uuid7())
    (delivery,) = await claim_deliveries(conn, token, 10)
    assert await finish_delivery(conn, ClaimToken(uuid7()), delivery, Effects((message("out"),))) is None
    assert await queue.counts("out") == (0, 0, 0, 0)
    done = await finish_delivery(conn, token, delivery, Effects((message("out"),)))
    assert done is not None
    assert len(done.sent) == 1
    assert await queue.counts("out") == (1, 0, 0, 0)
    assert await finish_delivery(conn, token, delivery, Effects((message("out"),))) is None


async def test_nacked_released_and_expired_deliveries_come_again(conn: Connection) -> None:
    queue = await queue_with_trigger(conn)
    await bury(queue, 1)
    token = ClaimToken(uuid7())
    (delivery,) = await claim_deliveries(conn, token, 10)
    await nack_delivery(conn, token, delivery, 0)
    (delivery,) = await claim_deliveries(conn, token, 10)
    assert delivery.attempt == 2
    await release_deliveries(conn, token, [delivery])
    (delivery,) = await claim_deliveries(conn, token, 10)
    assert delivery.attempt == 2
    await conn.execute("update outbox set claimed_at = claimed_at - interval '2 minutes'")
    assert await reclaim_deliveries(conn, timeout_secs=60, limit=10) == (1, 0)
    (delivery,) = await claim_deliveries(conn, token, 10)
    assert delivery.attempt == 3
    await conn.execute("update outbox set claimed_at = claimed_at - interval '2 minutes'")
    assert await reclaim_deliveries(conn, timeout_secs=60, limit=10) == (0, 1)


async def test_dead_letter_of_an_invocation_is_replayed_and_that_of_a_dead_letter_handler_is_not(
    conn: Connection,
) -> None:
    queue = await queue_with_trigger(conn)
    script = (await put_script(conn, queue.app.id, "later", "def handle(event, ctx): pass")).script
    event = '{"body": [1], "caller": "main"}'
    await insert_invocations(conn, queue.app.id, [NewInvocation(uuid7(), script.id, event, 2)])
    token = ClaimToken(uuid7())
    (failed,) = await claim_deliveries(conn, token, 10)
    await bury_delivery(conn, token, failed, "{}")
    # its death fires the trigger, whose handler fails, too
    (mourning,) = await claim_deliveries(conn, token, 10)
    await bury_delivery(conn, token, mourning, "{}")
    newest, oldest = await list_dead_letters(conn, queue.app.id)
    assert (newest.source, oldest.source) == ("dead_letter", "invoke")

    (replayed,), _ = await replay_dead_letters(conn, queue.app.id, Replay("ann"))
    assert (replayed.dead_letter_id, replayed.queue_name) == (oldest.id, None)
    (again,) = await claim_deliveries(conn, ClaimToken(uuid7()), 10)
    assert (again.id, again.script_name, again.event) == (replayed.message_id, "later", {"body": [1], "caller": "main"})
    assert (again.source_kind, again.trigger_depth, again.max_attempts) == ("invoke", 2, 1)
    with pytest.raises(Conflict, match="discard it"):
        await replay_dead_letter(conn, queue.app.id, newest.id, Replay("ann"))
    with pytest.raises(AlreadyReplayed):
        await replay_dead_letter(conn, queue.app.id, oldest.id, Replay("ann"))
