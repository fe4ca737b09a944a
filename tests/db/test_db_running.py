"""What runs on which node, and wishes to cancel it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from queue_probes import Queue, new_queue
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.dead_letters import list_dead_letters
from picloud.db.messages import dead_letter_messages
from picloud.db.running import CancelWish, OwnExecution, list_running, publish_running, request_cancel
from picloud.types import AppId, ExecutionId

HERE, THERE, NOBODY = uuid4(), uuid4(), uuid4()


@pytest.fixture
async def queue(conn: Connection) -> Queue:
    return await new_queue(conn)


def execution(queue: Queue, **values: Any) -> OwnExecution:
    row = {
        "id": ExecutionId(uuid7()),
        "app_id": queue.app.id,
        "script_name": "work",
        "source": "queue",
        "queue_name": "jobs",
        "message_id": "m",
        "age": 5.0,
    }
    return OwnExecution(**{**row, **values})


async def listed(queue: Queue, except_node: UUID = NOBODY) -> list[ExecutionId]:
    return [one.id for one in await list_running(queue.conn, queue.app.id, except_node=except_node)]


async def test_a_node_replaces_what_it_said_before_and_touches_no_other_nodes_rows(queue: Queue) -> None:
    first, second, other = (execution(queue) for _ in range(3))
    await publish_running(queue.conn, HERE, [first, second])
    await publish_running(queue.conn, THERE, [other])
    assert await listed(queue) == [first.id, second.id, other.id]
    await publish_running(queue.conn, HERE, [second])
    assert await listed(queue) == [second.id, other.id]
    assert await listed(queue, HERE) == [other.id]
    await publish_running(queue.conn, HERE, [])
    assert await listed(queue) == [other.id]


async def test_a_wish_reaches_the_node_that_runs_it_and_the_first_to_ask_is_named(queue: Queue) -> None:
    mine, other = execution(queue), execution(queue)
    await publish_running(queue.conn, HERE, [mine])
    await publish_running(queue.conn, THERE, [other])
    assert await request_cancel(queue.conn, queue.app.id, mine.id, by="ann", discards=False)
    assert await request_cancel(queue.conn, queue.app.id, mine.id, by="bob", discards=True)
    assert await publish_running(queue.conn, THERE, [other]) == []
    assert await publish_running(queue.conn, HERE, [mine]) == [CancelWish(mine.id, "ann", True)]
    (shown,) = await list_running(queue.conn, queue.app.id, except_node=THERE)
    assert shown.cancelling


async def test_what_nobody_runs_or_another_app_runs_cannot_be_cancelled(queue: Queue) -> None:
    mine = execution(queue)
    await publish_running(queue.conn, HERE, [mine])
    stranger = AppId(uuid4())
    assert not await request_cancel(queue.conn, stranger, mine.id, by="ann", discards=False)
    assert not await request_cancel(queue.conn, queue.app.id, ExecutionId(uuid4()), by="ann", discards=False)


async def test_executions_of_a_node_that_died_are_not_shown_and_forgotten_in_the_end(queue: Queue) -> None:
    lost = execution(queue)
    await publish_running(queue.conn, THERE, [lost])
    await queue.conn.execute("update running_executions set seen_at = now() - interval '20 s'")
    assert await listed(queue) == []
    assert not await request_cancel(queue.conn, queue.app.id, lost.id, by="ann", discards=False)
    await queue.conn.execute("update running_executions set seen_at = now() - interval '10 min'")
    await publish_running(queue.conn, HERE, [])
    cur = await queue.conn.execute("select count(*) from running_executions")
    assert await cur.fetchone() == (0,)


async def test_a_node_that_was_away_for_long_publishes_what_it_still_runs(queue: Queue) -> None:
    mine = execution(queue)
    await publish_running(queue.conn, HERE, [mine])
    await queue.conn.execute("update running_executions set seen_at = now() - interval '10 min'")
    await publish_running(queue.conn, HERE, [mine])
    assert await listed(queue) == [mine.id]


async def test_an_app_that_was_deleted_meanwhile_is_left_out(queue: Queue) -> None:
    mine, stray = execution(queue), execution(queue, app_id=AppId(uuid4()))
    await publish_running(queue.conn, HERE, [mine, stray])
    assert await listed(queue) == [mine.id]


async def test_a_discarded_message_is_a_resolved_dead_letter_that_fires_no_trigger(queue: Queue) -> None:
    await queue.conn.execute(
        """with s as (insert into scripts (id, app_id, name, source, source_sha256)
                      values (gen_random_uuid(), %(app)s, 'mourn', '', '') returning id),
                t as (insert into triggers (id, app_id, script_id, kind)
                      select gen_random_uuid(), %(app)s, id, 'dead_letter' from s returning id)
           insert into dead_letter_trigger_details (trigger_id) select id from t""",
        {"app": queue.app.id},
    )
    await queue.send("x")
    claims = await queue.claim()
    assert (
        await dead_letter_messages(
            queue.conn, claims.token, [(claims.ids[0], "{}")], trigger_id=None, script_name="work", discarded_by="ann"
        )
        == 1
    )
    assert await list_dead_letters(queue.conn, queue.app.id) == []
    (dead,) = await list_dead_letters(queue.conn, queue.app.id, include_resolved=True)
    assert (dead.reason, dead.resolution) == ("cancelled", "discarded")
    cur = await queue.conn.execute("select count(*) from outbox")
    assert await cur.fetchone() == (0,)
