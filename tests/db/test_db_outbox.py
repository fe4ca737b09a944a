"""Rows of the outbox: claimed in turn, settled once, and their leases; on a real database."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import trio
from outbox_probes import Outbox, Pull
from queue_probes import message, new_queue
from uuid_utils.compat import uuid7

from picloud.db.apps import insert_app
from picloud.db.connection import Connection
from picloud.db.dead_letters import Replay, list_dead_letters, replay_dead_letter
from picloud.db.messages import Effect
from picloud.db.outbox import (
    Rotation,
    bury_deliveries,
    extend_deliveries,
    nack_deliveries,
    reclaim_deliveries,
    release_deliveries,
    vacuum_deliveries,
)
from picloud.db.pool import Pool
from picloud.db.queue_rules import change_rules
from picloud.db.units import DELIVERIES, Unit, commit_units
from picloud.types import AppId, ClaimToken, Effects, KvWrite, NewInvocation, QueueRules


@pytest.fixture
def outbox(conn: Connection) -> Outbox:
    return Outbox(conn)


async def new_app(outbox: Outbox) -> AppId:
    return (await insert_app(outbox.conn, f"app-{uuid4()}")).id


# Claim.


async def test_claimed_row_tells_all_that_is_needed_to_run_it(outbox: Outbox) -> None:
    app_id = await new_app(outbox)
    (row_id,) = await outbox.invoke(app_id, depth=3)
    (delivery,) = (await outbox.pull()).deliveries
    assert (delivery.id, delivery.app_id, delivery.script_app_id) == (row_id, app_id, app_id)
    assert (delivery.source_kind, delivery.script_name, delivery.script_version) == ("invoke", "later", 1)
    assert (delivery.event, delivery.trigger_depth) == ({"body": 0, "caller": "main"}, 3)
    # it runs once
    assert (delivery.attempt, delivery.max_attempts) == (1, 1)
    assert (await outbox.pull()).deliveries == []


async def test_flood_of_one_app_leaves_the_others_their_turn(outbox: Outbox) -> None:
    flood, few, one = [await new_app(outbox) for _ in range(3)]
    await outbox.invoke(flood, 100)
    await outbox.invoke(few, 5)
    await outbox.invoke(one, 1)
    batch = await outbox.pull(30)
    assert Counter(batch.apps) == {flood: 10, few: 5, one: 1}
    # within the batch, too: nobody's first waits behind another's second
    assert set(batch.apps[:3]) == {flood, few, one}
    assert [d.event["body"] for d in batch.deliveries if d.app_id == flood] == list(range(10))
    assert Counter((await outbox.pull(30)).apps) == {flood: 30}


async def test_apps_take_turns_where_a_batch_is_smaller_than_their_number(outbox: Outbox) -> None:
    apps = sorted([await new_app(outbox) for _ in range(3)])
    for app_id in apps:
        await outbox.invoke(app_id, 3)
    rotation = Rotation()
    turns = [(await outbox.pull(1, rotation=rotation)).apps[0] for _ in range(9)]
    assert turns == apps * 3


async def test_app_that_is_left_out_gets_nothing_for_now(outbox: Outbox) -> None:
    one, other = await new_app(outbox), await new_app(outbox)
    await outbox.invoke(one, 2)
    await outbox.invoke(other, 2)
    batch = await outbox.pull(10, rotation=Rotation(left_out=lambda: [one]))
    assert Counter(batch.apps) == {other: 2}
    assert Counter((await outbox.pull(10)).apps) == {one: 2}


async def test_apps_that_come_later_are_found_whatever_is_known_of_others(outbox: Outbox) -> None:
    apps = sorted([await new_app(outbox) for _ in range(5)])
    rotation = Rotation()
    for known in (apps[1], apps[3]):
        await outbox.invoke(known)
    assert len((await outbox.pull(rotation=rotation)).deliveries) == 2
    for unknown in (apps[4], apps[0], apps[2], apps[1]):
        await outbox.invoke(unknown)
    assert set((await outbox.pull(rotation=rotation)).apps) == {apps[0], apps[1], apps[2], apps[4]}


async def test_rows_below_the_marks_are_found_after_a_reset(outbox: Outbox) -> None:
    app_id = await new_app(outbox)
    await outbox.invoke(app_id)
    rotation = Rotation()
    await outbox.pull(rotation=rotation)
    await outbox.invoke(app_id)
    await outbox.conn.execute("update outbox set deliver_after = now() - interval '1 minute' where claim_token is null")
    assert (await outbox.pull(rotation=rotation)).deliveries == []
    assert rotation.reset()
    assert not rotation.reset()
    assert len((await outbox.pull(rotation=rotation)).deliveries) == 1


async def test_delayed_rows_wait(outbox: Outbox) -> None:
    app_id = await new_app(outbox)
    await outbox.invoke(app_id, 2)
    await outbox.conn.execute("update outbox set deliver_after = 'infinity' where event->>'body' = '0'")
    assert [d.event["body"] for d in (await outbox.pull()).deliveries] == [1]


# Settle.


async def test_batch_is_acknowledged_with_the_messages_of_its_handlers_each_in_its_app(conn: Connection) -> None:
    outbox, one, other = Outbox(conn), await new_queue(conn), await new_queue(conn)
    await outbox.invoke(one.app.id)
    await outbox.invoke(other.app.id, 2)
    batch = await outbox.pull()
    effects = [Effect(delivery.id, message("out", delivery.event)) for delivery in batch.deliveries]
    after = await outbox.pull(0, done=batch, effects=effects)
    assert after.pulled.acked == 3
    assert (await one.counts("out"), await other.counts("out")) == ((1, 0, 0, 0), (2, 0, 0, 0))
    assert await outbox.count() == 0


async def test_stale_acknowledgement_leaves_nothing(conn: Connection) -> None:
    outbox, queue = Outbox(conn), await new_queue(conn)
    await outbox.invoke(queue.app.id)
    batch = await outbox.pull()
    stale = Pull(ClaimToken(uuid7()), batch.pulled)
    after = await outbox.pull(0, done=stale, effects=[Effect(batch.ids[0], message("out"))])
    assert after.pulled.acked == 0
    assert await queue.counts("out") == (0, 0, 0, 0)
    assert await outbox.count() == 1
    assert (await outbox.pull(0, done=batch)).pulled.acked == 1


async def test_effects_follow_the_rules_of_the_queue_they_go_to(conn: Connection) -> None:
    outbox, queue = Outbox(conn), await new_queue(conn)
    await queue.bind(retry_max_attempts=7)
    await outbox.invoke(queue.app.id, 3)
    batch = await outbox.pull()
    effects = [
        Effect(batch.ids[0], message("jobs", 1)),
        Effect(batch.ids[1], message("jobs", 2, dedup_key="k")),
        Effect(batch.ids[2], message("jobs", 3, dedup_key="k")),
    ]
    await outbox.pull(0, done=batch, effects=effects)
    rows = await (await conn.execute("select payload, max_attempts from queue_messages order by payload")).fetchall()
    assert rows == [(1, 7), (2, 7)]


async def test_effects_follow_the_defaults_of_the_queue_they_go_to(conn: Connection) -> None:
    outbox, queue = Outbox(conn), await new_queue(conn)
    await queue.bind(retry_max_attempts=7)
    await change_rules(conn, queue.app.id, "jobs", QueueRules(fifo=True, default_max_attempts=9))
    await outbox.invoke(queue.app.id, 1)
    batch = await outbox.pull()
    await outbox.pull(0, done=batch, effects=[Effect(batch.ids[0], message("jobs", 1))])
    rows = await (await conn.execute("select max_attempts, group_key from queue_messages")).fetchall()
    assert rows == [(9, "")]


async def test_keys_and_invocations_are_committed_with_the_row(conn: Connection) -> None:
    outbox, queue = Outbox(conn), await new_queue(conn)
    await outbox.invoke(queue.app.id, 2)
    batch = await outbox.pull()
    (script_id,) = {delivery.script_id for delivery in batch.deliveries if delivery.script_id is not None}
    deeper = NewInvocation(uuid7(), script_id, '{"body": "deeper", "caller": "later"}', 2)
    units = [
        Unit(batch.ids[0], Effects(writes=(KvWrite("increment", "n", amount=1),), invocations=(deeper,))),
        Unit(batch.ids[1], Effects(writes=(KvWrite("set", "n", "1", if_version=7),))),
    ]
    lost = await commit_units(conn, queue.app.id, ClaimToken(uuid7()), units, DELIVERIES)
    assert (lost.done, lost.refused) == ([], [])
    committed = await commit_units(conn, queue.app.id, batch.token, units, DELIVERIES)
    assert (committed.done, [i for i, _ in committed.refused]) == ([batch.ids[0]], [batch.ids[1]])
    assert committed.invocations == 1
    (again,) = (await outbox.pull()).deliveries
    assert (again.id, again.event["body"], again.trigger_depth) == (deeper.id, "deeper", 2)


async def test_competing_lanes_take_every_row_once(conn: Connection, pool: Pool) -> None:
    outbox = Outbox(conn)
    apps = [await new_app(outbox) for _ in range(3)]
    wanted = [row_id for app_id in apps for row_id in await outbox.invoke(app_id, 200)]
    taken: list[UUID] = []

    async def work() -> None:
        async with pool.connection() as own:
            lane, batch, rotation = Outbox(own), None, Rotation()
            while True:
                batch = await lane.pull(7, done=batch, rotation=rotation)
                taken.extend(batch.ids)
                if not batch.ids and not rotation.reset():
                    return

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(work)
    assert Counter(taken) == Counter(wanted)
    assert await outbox.count() == 0


# Leases.


async def test_nacked_released_and_expired_rows_come_again(outbox: Outbox) -> None:
    await outbox.invoke(await new_app(outbox))
    await outbox.conn.execute("update outbox set max_attempts = 3")
    first = await outbox.pull()
    assert await nack_deliveries(outbox.conn, first.token, [(first.ids[0], 0)]) == 1
    second = await outbox.pull()
    assert second.deliveries[0].attempt == 2
    assert await release_deliveries(outbox.conn, first.token, first.ids) == 0
    assert await release_deliveries(outbox.conn, second.token, second.ids) == 1
    third = await outbox.pull()
    assert third.deliveries[0].attempt == 2
    await outbox.age_claims(120)
    assert await reclaim_deliveries(outbox.conn, timeout_secs=60, limit=10) == (1, 0)
    fourth = await outbox.pull()
    assert fourth.deliveries[0].attempt == 3
    await outbox.age_claims(120)
    assert await extend_deliveries(outbox.conn, third.token, third.ids) == 0
    assert await extend_deliveries(outbox.conn, fourth.token, fourth.ids) == 1
    assert await reclaim_deliveries(outbox.conn, timeout_secs=60, limit=10) == (0, 0)
    await outbox.age_claims(120)
    assert await reclaim_deliveries(outbox.conn, timeout_secs=60, limit=10) == (0, 1)


async def test_invocation_whose_node_died_is_a_dead_letter_that_can_be_replayed(outbox: Outbox) -> None:
    app_id = await new_app(outbox)
    await outbox.invoke(app_id, depth=2)
    await outbox.pull()
    await outbox.age_claims(120)
    assert await reclaim_deliveries(outbox.conn, timeout_secs=60, limit=10) == (0, 1)
    (dead,) = await list_dead_letters(outbox.conn, app_id)
    assert (dead.source, dead.reason, dead.script_name) == ("invoke", "lease_expired", "later")
    assert dead.error is not None
    assert "the node died" in dead.error["message"]
    await replay_dead_letter(outbox.conn, app_id, dead.id, Replay("ann"))
    (again,) = (await outbox.pull()).deliveries
    assert (again.script_name, again.event, again.trigger_depth) == ("later", {"body": 0, "caller": "main"}, 2)


async def test_every_row_of_a_batch_that_failed_is_buried_once(outbox: Outbox) -> None:
    app_id = await new_app(outbox)
    await outbox.invoke(app_id, 3)
    batch = await outbox.pull()
    failures = [(row_id, '{"message": "no"}') for row_id in batch.ids]
    assert await bury_deliveries(outbox.conn, ClaimToken(uuid7()), failures) == 0
    assert await bury_deliveries(outbox.conn, batch.token, failures) == 3
    assert await bury_deliveries(outbox.conn, batch.token, failures) == 0
    dead = await list_dead_letters(outbox.conn, app_id)
    assert [letter.id for letter in dead] == sorted(batch.ids, reverse=True)


async def test_cancelled_row_that_somebody_wants_gone_is_a_resolved_dead_letter(outbox: Outbox) -> None:
    app_id = await new_app(outbox)
    await outbox.invoke(app_id)
    batch = await outbox.pull()
    failure = (batch.ids[0], '{"type": "Cancelled", "message": "no"}')
    assert await bury_deliveries(outbox.conn, batch.token, [failure], discarded_by="ann") == 1
    (dead,) = await list_dead_letters(outbox.conn, app_id, include_resolved=True)
    assert (dead.reason, dead.resolution, dead.resolved_by) == ("cancelled", "discarded", "ann")


# Plans.


class Plans:
    """What PostgreSQL did for each pull of a connection: plans with what they read."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._notices: list[str] = []

    async def watch(self) -> None:
        conn = self._outbox.conn
        await conn.execute("load 'auto_explain'")
        conn.add_notice_handler(lambda diagnostic: self._notices.append(diagnostic.message_primary or ""))
        for setting in ("log_min_duration = 0", "log_analyze = on", "log_buffers = on"):
            await conn.execute(f"set auto_explain.{setting}")  # type: ignore[arg-type]
        await conn.execute("set client_min_messages = log")

    async def pull(self, rotation: Rotation) -> tuple[int, str, int]:
        """Return how many rows were claimed, the plan, and how many pages were read for it."""
        self._notices.clear()
        claimed = len((await self._outbox.pull(10, rotation=rotation)).ids)
        (plan,) = [notice for notice in self._notices if "CTE claimed" in notice]
        total = next(line for line in plan.splitlines() if "Buffers: shared" in line)
        pages = sum(int(part.partition("=")[2]) for part in total.split() if part.startswith(("hit=", "read=")))
        return claimed, plan, pages


@pytest.fixture
async def plans(outbox: Outbox) -> Plans:
    return Plans(outbox)


async def test_claim_walks_neither_delayed_rows_nor_the_backlog(outbox: Outbox, plans: Plans) -> None:
    lazy, busy = await new_app(outbox), await new_app(outbox)
    await outbox.invoke(busy, 10_000)
    await outbox.conn.execute(
        """insert into outbox (id, app_id, source_kind, event, deliver_after)
           select make_uuid7(), %s, 'invoke', '{}', now() + interval '1 hour' from generate_series(1, 10000)""",
        (lazy,),
    )
    await vacuum_deliveries(outbox.conn)
    await plans.watch()
    claimed, plan, pages = await plans.pull(Rotation())
    assert claimed == 10
    assert plan.count("outbox_dispatch") >= 4  # other apps (twice), due apps, the claim
    assert "Seq Scan on outbox" not in plan
    # ten rows, and a few pages for each probe: not the 20,000 rows that wait
    assert pages < 500


async def test_dead_rows_of_a_flood_are_not_walked_again_while_an_old_snapshot_keeps_them(
    outbox: Outbox, plans: Plans, pool: Pool
) -> None:
    flood = await new_app(outbox)
    await outbox.invoke(flood, 5_000)
    await outbox.conn.execute("update outbox set deliver_after = now() - interval '10 seconds'")
    async with pool.connection() as pin, pin.transaction():
        await pin.execute("set transaction isolation level repeatable read")
        await pin.execute("select 1 from outbox limit 1")
        rotation, batch = Rotation(), await outbox.pull(1000)
        while batch.ids:
            batch = await outbox.pull(1000, done=batch, rotation=rotation)
        # the marks stand two seconds below the last row: late commits
        rotation.marks[flood] += timedelta(seconds=3)
        await plans.watch()
        walked = (await plans.pull(Rotation()))[2]
        assert walked > 300
        assert (await plans.pull(rotation))[2] < walked / 5
        await outbox.invoke(flood, 2)
        claimed, _, pages = await plans.pull(rotation)
        assert claimed == 2
        assert pages < walked
