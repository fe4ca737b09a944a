"""The whole queue against a model: several consumers, stale writes and crashes, in any order.

`PICLOUD_TEST_MODEL=long` runs many more and longer histories.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest
import trio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from queue_model import LATER, QueueModel
from queue_probes import message
from uuid_utils.compat import uuid7

from picloud.db.apps import insert_app
from picloud.db.connection import Connection, connect
from picloud.db.dead_letters import Replay, delete_dead_letter, replay_dead_letter, replay_dead_letters
from picloud.db.messages import (
    Effect,
    LowWater,
    Settlement,
    dead_letter_messages,
    delete_message,
    extend_leases,
    insert_messages,
    nack_messages,
    promote_message,
    pull_messages,
    purge_messages,
    reclaim_messages,
    release_messages,
    requeue_message,
)
from picloud.db.queue_rules import change_rules, pull_by_rules
from picloud.db.queues import ensure_queue, list_depths, pause_queue, resume_queue
from picloud.db.scripts import put_script
from picloud.db.triggers import QueueTriggerSettings, insert_queue_trigger
from picloud.db.units import Unit, commit_units
from picloud.errors import DatabaseUnavailable, KvConflict
from picloud.types import (
    ClaimToken,
    DeadLetterId,
    Effects,
    KvWrite,
    MessageId,
    NewInvocation,
    NewMessage,
    QueueRules,
    ScriptId,
)

T = TypeVar("T")
LONG = os.environ.get("PICLOUD_TEST_MODEL") == "long"
HISTORIES = settings(
    max_examples=400 if LONG else 12,
    stateful_step_count=120 if LONG else 40,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
HOUR = 3600.0
LEASE = 3600
"""Seconds: no lease runs out by itself."""
CONSUMERS = 3
QUEUES = ("plain", "capped", "line", "out")
"""One with a trigger of two attempts, one with a `max_in_flight`, one that is fifo, one nobody set anything for."""
ROWS = """
select id, queue_name, priority, attempt, max_attempts, claim_token, deliver_after > now(), dedup_key, group_key
  from queue_messages where app_id = %s order by deliver_after, id
"""
AGAIN = Replay(by="somebody")
KEYS = st.none() | st.sampled_from("xyz")
SHARE = st.integers(0, 7)
"""Which of the messages in hand: a bit mask, so that a few and all of them are chosen often."""


class TrioThread:
    """Runs a Trio loop, and functions in it from a thread that has none."""

    def __init__(self) -> None:
        self._started = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._main,))
        self._thread.start()
        self._started.wait()

    async def _main(self) -> None:
        self._token, self._end = trio.lowlevel.current_trio_token(), trio.Event()
        self._started.set()
        await self._end.wait()

    def run(self, function: Callable[..., Awaitable[T]], *args: Any, **more: Any) -> T:
        async def call() -> T:
            with trio.fail_after(30):
                return await function(*args, **more)

        return trio.from_thread.run(call, trio_token=self._token)

    def close(self) -> None:
        self._token.run_sync_soon(self._end.set)
        self._thread.join()


@dataclass
class Consumer:
    """One node's consumer: its connection, and what it believes to hold."""

    conn: Connection
    held: list[tuple[ClaimToken, str, MessageId]] = field(default_factory=list)


class QueueMachine(RuleBasedStateMachine):
    """Does the same to the database and to the model, and compares."""

    def __init__(self, loop: TrioThread, dsn: str) -> None:
        super().__init__()
        self.loop, self.dsn = loop, dsn
        self.do = loop.run
        self.admin = self.do(connect, dsn)
        self.consumers = [Consumer(self.do(connect, dsn)) for _ in range(CONSUMERS)]
        self.stale: list[tuple[ClaimToken, str, MessageId]] = []
        """What was settled, given back or forgotten: whoever still believes in it must change nothing."""

    @initialize()
    def begin(self) -> None:
        conn = self.admin
        self.app = self.do(insert_app, conn, f"app-{uuid4()}").id
        self.script = ScriptId(self.do(put_script, conn, self.app, "work", "def handle(event, ctx): pass").script.id)
        settled = QueueTriggerSettings(retry_max_attempts=2, visibility_timeout_secs=LEASE)
        self.do(insert_queue_trigger, conn, self.app, "work", "plain", settled)
        for name in QUEUES:
            self.do(ensure_queue, conn, self.app, name)
        self.do(change_rules, conn, self.app, "capped", QueueRules(max_in_flight=3))
        self.do(change_rules, conn, self.app, "line", QueueRules(fifo=True))
        self.model = QueueModel({"plain": 2}, frozenset({"line"}), {"capped": 3})

    # --- senders

    @rule(
        queue=st.sampled_from(QUEUES),
        count=st.integers(1, 3),
        priority=st.sampled_from([0, 0, 5, 9]),
        later=st.booleans(),
        attempts=st.none() | st.integers(1, 3),
        dedup=KEYS,
        group=KEYS,
    )
    def send(
        self,
        queue: str,
        count: int,
        priority: int,
        later: bool,
        attempts: int | None,
        dedup: str | None,
        group: str | None,
    ) -> None:
        more = {"priority": priority, "max_attempts": attempts, "dedup_key": dedup, "group_key": group}
        new = [message(queue, n, delay=HOUR if later else 0.0, **more) for n in range(count)]
        sent = self.do(insert_messages, self.admin, self.app, new)
        self.model.tick()
        expected = [
            self.model.send(
                m.id, queue, priority=priority, later=later, max_attempts=attempts, dedup=dedup, group=group
            )
            for m in new
        ]
        assert [(one.id, one.is_new) for one in sent] == expected
        assert all((one.due_in is None) != one.is_new for one in sent)
        self.check()

    # --- consumers

    @rule(who=st.integers(0, CONSUMERS - 1), queue=st.sampled_from(QUEUES), limit=st.integers(0, 4), share=SHARE)
    def pull(self, who: int, queue: str, limit: int, share: int) -> None:
        """Acknowledge some of what is held, with effects, and claim more."""
        consumer = self.consumers[who]
        mine = [entry for entry in consumer.held if entry[1] == queue]
        done_token = mine[0][0] if mine else ClaimToken(uuid7())
        batch = [entry for entry in mine if entry[0] == done_token]
        self._pull(consumer, queue, limit, done_token, self._choose(batch, share))

    @precondition(lambda self: self.stale)
    @rule(who=st.integers(0, CONSUMERS - 1), limit=st.integers(0, 2), pick=st.integers(0, 99))
    def pull_with_a_stale_acknowledgement(self, who: int, limit: int, pick: int) -> None:
        token, queue, message_id = self.stale[pick % len(self.stale)]
        self._pull(self.consumers[who], queue, limit, token, [(token, queue, message_id)])

    def _pull(self, consumer: Consumer, queue: str, limit: int, done_token: ClaimToken, done: list[Any]) -> None:
        token = ClaimToken(uuid7())
        ids = [message_id for _, _, message_id in done]
        effects = [Effect(i, message(to, dedup_key=key)) for i in ids for to, key in (("out", None), ("plain", "x"))]
        pull = pull_by_rules if queue == "capped" else pull_messages
        pulled = self.do(
            pull,
            consumer.conn,
            self.app,
            queue,
            settle=Settlement(done_token, ids, effects),
            claim_token=token,
            limit=limit,
            low_water=LowWater(),
        )
        self.model.tick()
        acked = self.model.settle(done_token, ids)
        claimed = self.model.claim(queue, token, limit)
        for effect in effects:
            if effect.cause in acked:
                new = effect.message
                self.model.send(new.id, new.queue_name, dedup=new.dedup_key)
        assert pulled.acked == len(acked)
        assert [m.id for m in pulled.messages] == claimed
        assert [m.attempt for m in pulled.messages] == [self.model.messages[i].attempt for i in claimed]
        assert pulled.paused == (queue in self.model.paused) or claimed
        self._let_go(consumer, done)
        consumer.held += [(token, queue, MessageId(i)) for i in claimed]
        self.check()

    @rule(who=st.integers(0, CONSUMERS - 1), share=SHARE, later=st.booleans())
    def nack(self, who: int, share: int, later: bool) -> None:
        for token, _, message_id in self._take(who, share):
            changed = self.do(nack_messages, self.admin, token, [(message_id, HOUR * 1000 if later else 0.0)])
            self.model.tick()
            held = self.model.held(token, [message_id])
            assert changed == len(held)
            for i in held:
                self.model.give_back(self.model.messages[i], later=later)
        self.check()

    @rule(who=st.integers(0, CONSUMERS - 1), share=SHARE)
    def release(self, who: int, share: int) -> None:
        for token, _, message_id in self._take(who, share):
            changed = self.do(release_messages, self.admin, token, [message_id])
            held = self.model.held(token, [message_id])
            assert changed == len(held)
            for i in held:
                self.model.messages[i].token = None
                self.model.messages[i].attempt -= 1
        self.check()

    @rule(who=st.integers(0, CONSUMERS - 1), share=SHARE)
    def bury(self, who: int, share: int) -> None:
        for token, _, message_id in self._take(who, share):
            failures = [(message_id, '{"type": "ValueError", "message": "no"}')]
            changed = self.do(dead_letter_messages, self.admin, token, failures, trigger_id=None, script_name="work")
            held = self.model.held(token, [message_id])
            assert changed == len(held)
            for i in held:
                self.model.bury(self.model.messages[i], "attempts_exhausted")
        self.check()

    @rule(who=st.integers(0, CONSUMERS - 1))
    def extend(self, who: int) -> None:
        for token, _, message_id in self.consumers[who].held + self.stale[-3:]:
            changed = self.do(extend_leases, self.admin, token, [message_id])
            held = self.model.held(token, [message_id])
            assert changed == len(held)
            for i in held:
                self.model.messages[i].expired = False
        self.check()

    @rule(who=st.integers(0, CONSUMERS - 1), share=SHARE, refuse=st.booleans())
    def commit(self, who: int, share: int, refuse: bool) -> None:
        """Acknowledge with more than messages: keys and invocations."""
        self._commit(who, share, refuse=refuse, crash_at=None)

    @rule(who=st.integers(0, CONSUMERS - 1), share=SHARE, at=st.integers(1, 6))
    def crash_while_it_commits(self, who: int, share: int, at: int) -> None:
        """The connection ends before the statement number `at` of the transaction."""
        self._commit(who, share, refuse=False, crash_at=at)

    def _commit(self, who: int, share: int, *, refuse: bool, crash_at: int | None) -> None:
        consumer = self.consumers[who]
        batch = [entry for entry in consumer.held if entry[0] == consumer.held[0][0]]
        chosen = self._choose(batch, share)
        if not chosen:
            return
        token = chosen[0][0]
        units = [Unit(i, self._effects(refuse and n == 0)) for n, (_, _, i) in enumerate(chosen)]
        held = self.model.held(token, [unit.cause for unit in units])
        if crash_at is not None:
            try:
                self.do(self._crash, consumer, crash_at, token, units)
            except DatabaseUnavailable:
                consumer.conn = self.do(connect, self.dsn)
                self.check()
                return
        else:
            committed = self.do(commit_units, consumer.conn, self.app, token, units)
            refused = held[:1] if refuse and units[0].cause in held else []
            assert [i for i, _ in committed.refused] == refused
            assert all(isinstance(error, KvConflict) for _, error in committed.refused)
            assert committed.done == [i for i in held if i not in refused]
            held = list(committed.done)
        self.model.tick()
        self.model.settle(token, held)
        for unit in units:
            if unit.cause in held:
                for new in unit.effects.messages:
                    self.model.send(new.id, new.queue_name, dedup=new.dedup_key)
        self.model.done += len(held)
        self._let_go(consumer, [entry for entry in chosen if entry[2] in held])
        self.check()

    async def _crash(self, consumer: Consumer, at: int, token: ClaimToken, units: list[Unit]) -> None:
        conn, count, execute = consumer.conn, 0, consumer.conn.execute

        async def execute_until_the_end(*args: Any, **more: Any) -> Any:
            nonlocal count
            count += 1
            if count == at:
                await self.admin.execute("select pg_terminate_backend(%s, 5000)", (conn.info.backend_pid,))
            return await execute(*args, **more)

        conn.execute = execute_until_the_end  # type: ignore[method-assign]
        try:
            await commit_units(conn, self.app, token, units)
        finally:
            if count < at:
                conn.execute = execute  # type: ignore[method-assign]

    def _effects(self, refused: bool) -> Effects:
        writes = (KvWrite("increment", "done", amount=1),)
        if refused:
            writes += (KvWrite("set", "other", "1", if_version=999),)
        invocation = NewInvocation(uuid7(), self.script, '{"args": null}', 1)
        messages: tuple[NewMessage, ...] = (message("out"), message("plain", dedup_key="y"))
        return Effects(messages, writes, (invocation,))

    @rule(who=st.integers(0, CONSUMERS - 1))
    def crash_and_forget(self, who: int) -> None:
        """The node dies between two statements: what it held stays claimed until its lease runs out."""
        consumer = self.consumers[who]
        self.do(consumer.conn.close)
        consumer.conn = self.do(connect, self.dsn)
        self._let_go(consumer, list(consumer.held))

    # --- time

    @rule(share=SHARE)
    def leases_run_out(self, share: int) -> None:
        claimed = sorted(m.id for m in self.model.messages.values() if m.token is not None)
        chosen = self._choose(claimed, share)
        self.do(
            self.admin.execute,
            "update queue_messages set claimed_at = claimed_at - interval '2 hours' where id = any(%s)",
            (chosen,),
        )
        for i in chosen:
            self.model.messages[i].expired = True

    @rule(limit=st.sampled_from([1000, 1000, 1]))
    def reclaim(self, limit: int) -> None:
        counted = (0, 0)
        while True:
            swept = self.do(reclaim_messages, self.admin, default_timeout_secs=LEASE, limit=limit)
            counted = (counted[0] + sum(q.released for q in swept), counted[1] + sum(q.dead for q in swept))
            if not swept:
                break
        order = sorted(
            (m for m in self.model.messages.values() if m.expired and m.token is not None), key=lambda m: m.id
        )
        self.model.tick()
        assert self.model.reclaim() == counted
        # several sweeps come back at several moments: what the order is within them is the database's to say
        self._adopt_moments([m.id for m in order if m.id in self.model.messages])
        self.check()

    @rule()
    def an_hour_passes(self) -> None:
        self.do(
            self.admin.execute,
            "update queue_messages set deliver_after = deliver_after - interval '1 hour' "
            "where app_id = %s and deliver_after > now()",
            (self.app,),
        )
        self.model.an_hour_passes()
        self.check()

    # --- operators

    @rule(queue=st.sampled_from(QUEUES), on=st.booleans())
    def pause_or_resume(self, queue: str, on: bool) -> None:
        self.do(pause_queue if on else resume_queue, self.admin, self.app, queue)
        (self.model.paused.add if on else self.model.paused.discard)(queue)

    @rule(queue=st.sampled_from(QUEUES), state=st.sampled_from(["ready", "delayed", "all"]))
    def purge(self, queue: str, state: Any) -> None:
        assert self.do(purge_messages, self.admin, self.app, queue, state, 1000) == self.model.purge(queue, state)
        self.check()

    @precondition(lambda self: self.model.messages)
    @rule(pick=st.integers(0, 99), what=st.sampled_from([promote_message, requeue_message, delete_message]))
    def operate_on_one(self, pick: int, what: Callable[..., Awaitable[bool]]) -> None:
        one = sorted(self.model.messages.values(), key=lambda m: m.id)[pick % len(self.model.messages)]
        applies = {
            promote_message: one.token is None and not one.due,
            requeue_message: one.token is not None,
            delete_message: one.token is None,
        }[what]
        assert self.do(what, self.admin, self.app, one.id) is applies
        self.model.tick()
        if applies and what is delete_message:
            del self.model.messages[one.id]
        elif applies:
            self.model.give_back(one)
        self.check()

    @precondition(lambda self: self.model.replayable())
    @rule(pick=st.integers(0, 99), everything=st.booleans(), limit=st.integers(1, 3))
    def replay(self, pick: int, everything: bool, limit: int) -> None:
        waiting = self.model.replayable()
        if everything:
            replayed, _ = self.do(replay_dead_letters, self.admin, self.app, AGAIN, limit=limit)
            expected = waiting[:limit]
        else:
            expected = [waiting[pick % len(waiting)]]
            replayed = [self.do(replay_dead_letter, self.admin, self.app, DeadLetterId(expected[0]), AGAIN)]
        assert [one.dead_letter_id for one in replayed] == expected
        self.model.tick()
        for one in replayed:
            self.model.replay(one.dead_letter_id, one.message_id)
        self.check()

    @precondition(lambda self: self.model.dead)
    @rule(pick=st.integers(0, 99))
    def discard(self, pick: int) -> None:
        one = sorted(self.model.dead)[pick % len(self.model.dead)]
        self.do(delete_dead_letter, self.admin, self.app, DeadLetterId(one))
        del self.model.dead[one]
        self.check()

    # --- the comparison

    def check(self) -> None:
        rows = self.do(self._fetch, ROWS)
        assert rows == self.model.rows()
        depths = {d.name: (d.ready, d.delayed, d.claimed, d.dead) for d in self.do(list_depths, self.admin, self.app)}
        assert depths == {name: self.model.counts(name) for name in QUEUES}
        dead = self.do(self._fetch, "select id, reason, resolved_at is not null from dead_letters where app_id = %s")
        assert {row[0]: row[1:] for row in dead} == {i: (d.reason, d.replayed) for i, d in self.model.dead.items()}
        ((key, invocations),) = self.do(
            self._fetch,
            "select (select value::text::int from kv where app_id = a.id and key = 'done'), "
            "(select count(*) from outbox where app_id = a.id) from apps a where id = %s",
        )
        assert (key or 0, invocations) == (self.model.done, self.model.done)

    async def _fetch(self, query: Any) -> list[tuple[Any, ...]]:
        return await (await self.admin.execute(query, (self.app,))).fetchall()

    def _adopt_moments(self, ids: list[UUID]) -> None:
        order = [row[0] for row in self.do(self._fetch, ROWS) if row[0] in ids]
        for message_id in order:
            self.model.tick()
            self.model.messages[message_id].at = self.model.now
            assert self.model.now < LATER

    # --- what a consumer believes

    @staticmethod
    def _choose(entries: list[Any], share: int) -> list[Any]:
        return [entry for n, entry in enumerate(entries) if share >> (n % 3) & 1]

    def _take(self, who: int, share: int) -> list[tuple[ClaimToken, str, MessageId]]:
        """Return some of what a consumer holds, and something stale; it holds them no more."""
        consumer = self.consumers[who]
        chosen = self._choose(consumer.held, share)
        self._let_go(consumer, chosen)
        return chosen + self.stale[:1]

    def _let_go(self, consumer: Consumer, entries: list[Any]) -> None:
        consumer.held = [entry for entry in consumer.held if entry not in entries]
        self.stale += [entry for entry in entries if entry not in self.stale]

    def teardown(self) -> None:
        # reclaim looks at all apps
        self.do(self.admin.execute, "delete from triggers")
        self.do(self.admin.execute, "delete from apps")
        for conn in [self.admin, *(consumer.conn for consumer in self.consumers)]:
            self.do(conn.close)


@pytest.fixture
def loop() -> Iterator[TrioThread]:
    made = TrioThread()
    yield made
    made.close()


def test_queue_does_what_its_model_does(loop: TrioThread, database: str) -> None:
    run_state_machine_as_test(lambda: QueueMachine(loop, database), settings=HISTORIES)
