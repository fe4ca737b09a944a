"""The outbox: what it refuses, how lanes share the work, and what becomes of it at the end."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
import trio
from actor_probes import NOW, SCRIPT
from psycopg.errors import QueryCanceled
from trio.testing import MockClock

from picloud.actors.delivering import DeliveryHandling
from picloud.actors.lane import Ran
from picloud.actors.library import Library
from picloud.actors.outbox import Outbox, OutboxConfig
from picloud.actors.runtime import WakeMailbox
from picloud.actors.settling import Refused, Verdict
from picloud.db.messages import Pulled, Settlement
from picloud.db.outbox import Delivery, Rotation
from picloud.db.scripts import ScriptHead
from picloud.db.units import Committed, Unit
from picloud.engine import Engine, EngineSettings, InvokeEvent, Job, Outcome
from picloud.errors import DatabaseUnavailable, KvConflict
from picloud.types import AppId, ClaimToken, Effects, ExecutionId, KvWrite, NewMessage, Script, ScriptError, ScriptId

APP, OTHER = AppId(uuid4()), AppId(uuid4())


def make_delivery(body: Any = None, **changes: Any) -> Delivery:
    values: dict[str, Any] = {
        "id": uuid4(),
        "app_id": APP,
        "app_name": "shop",
        "source_kind": "invoke",
        "trigger_id": None,
        "script_id": ScriptId(uuid4()),
        "script_name": "later",
        "script_version": 1,
        "event": {"body": body, "caller": "main"},
        "attempt": 1,
        "max_attempts": 1,
        "created_at": NOW,
        "deliver_after": NOW,
        "trigger_depth": 1,
        "root_execution_id": None,
        "retry_backoff": "constant",
        "retry_base_ms": 1000,
        **changes,
    }
    return Delivery(**{"script_app_id": values["app_id"], **values})


def outcome(delivery: Delivery, error: ScriptError | None = None, effects: Effects | None = None) -> Outcome:
    job = Job(delivery.app_id, "shop", SCRIPT, 1, InvokeEvent(None, "main"), key=delivery.id)
    ok, effects = error is None, effects or Effects()
    return Outcome(job, ExecutionId(uuid4()), ok, None, error, effects, (), 0.0, 0.0)


class MemoryOutbox:
    """An OutboxStore that keeps the promises of the real one; it gives nothing to apps that are left out."""

    def __init__(self, *deliveries: Delivery) -> None:
        self.ready = list(deliveries)
        self.claimed: dict[UUID, tuple[ClaimToken, Delivery]] = {}
        self.acked: list[Any] = []
        self.sent: list[tuple[UUID, NewMessage]] = []
        self.buried: list[str] = []
        self.nacked: list[float] = []
        self.commits: list[tuple[AppId, int]] = []
        self.refusals: dict[UUID, KvConflict] = {}
        self.extended: list[float] = []
        self.reclaimed_at: list[float] = []
        self.expired: list[tuple[int, int]] = []
        self.limits: list[int] = []
        self.outages = 0
        self.latency = 0.0
        self.cut_short = 0

    def _fail(self) -> None:
        if self.outages:
            self.outages -= 1
            raise DatabaseUnavailable("the database is away")

    async def pull(self, settle: Settlement, token: ClaimToken, limit: int, rotation: Rotation) -> Pulled[Delivery]:
        left_out = set(rotation.left_out())
        await trio.sleep(self.latency)
        self._fail()
        self.limits.append(limit)
        acked = self._acknowledge(settle.token, settle.done)
        self.sent += [(effect.cause, effect.message) for effect in settle.effects if effect.cause in acked]
        batch = [delivery for delivery in self.ready if delivery.app_id not in left_out][:limit]
        self.ready = [delivery for delivery in self.ready if delivery not in batch]
        self.claimed |= {delivery.id: (token, delivery) for delivery in batch}
        return Pulled(batch, len(acked))

    async def commit(self, app_id: AppId, token: ClaimToken, units: Sequence[Unit]) -> Committed:
        await trio.lowlevel.checkpoint()
        self._fail()
        assert {self.claimed[unit.cause][1].app_id for unit in units} == {app_id}
        self.commits.append((app_id, len(units)))
        committed = Committed(refused=[(u.cause, self.refusals[u.cause]) for u in units if u.cause in self.refusals])
        committed.done = self._acknowledge(token, [u.cause for u in units if u.cause not in self.refusals])
        committed.invocations = sum(len(unit.effects.invocations) for unit in units)
        return committed

    def _acknowledge(self, token: ClaimToken, ids: Sequence[UUID]) -> list[UUID]:
        held = [i for i in ids if i in self.claimed and self.claimed[i][0] == token]
        self.acked += [self.claimed.pop(i)[1].event["body"] for i in held]
        return held

    async def give_up(self, verdict: Verdict[Delivery]) -> None:
        await trio.lowlevel.checkpoint()
        self._fail()
        self.nacked += [wait for _, wait in verdict.retry_ms]
        self.buried += [json.loads(error)["message"] for _, error in verdict.dead]
        self.ready += [self.claimed[i][1] for i in verdict.untried]
        for i in [*(i for i, _ in verdict.retry_ms), *(i for i, _ in verdict.dead), *verdict.untried]:
            assert self.claimed.pop(i)[0] == verdict.token

    async def extend(self, token: ClaimToken, ids: Sequence[UUID]) -> int:
        await trio.lowlevel.checkpoint()
        self.extended.append(trio.current_time())
        return len(ids)

    async def reclaim(self, timeout_secs: float, limit: int) -> tuple[int, int]:
        await trio.lowlevel.checkpoint()
        self._fail()
        self.reclaimed_at.append(trio.current_time())
        if self.cut_short:
            self.cut_short -= 1
            raise QueryCanceled("canceling statement due to statement timeout")
        return self.expired.pop(0) if self.expired else (0, 0)


Handle = Callable[[Sequence[Delivery]], Awaitable[Ran]]


class Rig:
    """An outbox over a store in memory, and what it told others."""

    def __init__(self, store: MemoryOutbox, handle: Handle, **config: Any) -> None:
        self.store = store
        self.woken: list[tuple[AppId, int]] = []
        self.mailbox = WakeMailbox()
        self.outbox = Outbox(
            store,
            handle,
            self.mailbox,
            OutboxConfig(**config),
            on_sent=lambda app_id, messages: self.woken.append((app_id, len(messages))),
            on_outbox=self.mailbox.wake,
        )

    async def drain_when(self, condition: Callable[[], bool], *, limit: float = 600.0) -> None:
        with trio.fail_after(limit):
            async with trio.open_nursery() as nursery:
                await nursery.start(self.outbox.run)
                while not condition():
                    await trio.sleep(0.01)
                self.outbox.drain()


async def succeed(deliveries: Sequence[Delivery]) -> Ran:
    """Succeed with everything, at a tenth of a millisecond each."""
    await trio.sleep(0.0001 * len(deliveries))
    return Ran([outcome(delivery) for delivery in deliveries], 0.0001 * len(deliveries))


def slow(seconds: float) -> Handle:
    async def handle(deliveries: Sequence[Delivery]) -> Ran:
        await trio.sleep(seconds * len(deliveries))
        return Ran([outcome(delivery) for delivery in deliveries], seconds * len(deliveries))

    return handle


# Lanes.


async def test_everything_is_delivered_and_settled_once(autojump_clock: MockClock) -> None:
    store = MemoryOutbox(*map(make_delivery, range(1000)))
    rig = Rig(store, succeed)
    await rig.drain_when(lambda: len(store.acked) == 1000)
    assert sorted(store.acked) == list(range(1000))
    assert store.claimed == {}
    assert rig.outbox.details()["delivered"] == 1000
    assert max(store.limits) == 200


async def test_fast_handlers_stay_in_one_lane(autojump_clock: MockClock) -> None:
    store = MemoryOutbox(*map(make_delivery, range(2000)))
    running = highest = 0

    async def handle(deliveries: Sequence[Delivery]) -> Ran:
        nonlocal running, highest
        running += 1
        if len(deliveries) > 32:
            highest = max(highest, running)
        ran = await succeed(deliveries)
        running -= 1
        return ran

    await Rig(store, handle).drain_when(lambda: len(store.acked) == 2000)
    # more than one batch at once would be that many more rows whose attempt is used up when the node dies
    assert highest <= 2


async def test_slow_handlers_run_in_all_lanes_but_the_one_kept_for_other_apps(autojump_clock: MockClock) -> None:
    store = MemoryOutbox(*map(make_delivery, range(20)))
    running = highest = 0

    async def handle(deliveries: Sequence[Delivery]) -> Ran:
        nonlocal running, highest
        running += len(deliveries)
        highest = max(highest, running)
        ran = await slow(5.0)(deliveries)
        running -= len(deliveries)
        return ran

    began = trio.current_time()
    await Rig(store, handle, concurrency=4).drain_when(lambda: len(store.acked) == 20)
    assert highest == 3
    assert trio.current_time() - began < 20 / 3 * 5 + 10


async def test_flood_of_slow_handlers_of_one_app_does_not_hold_up_another(autojump_clock: MockClock) -> None:
    store = MemoryOutbox(*map(make_delivery, range(100)))
    started: dict[Any, float] = {}

    async def handle(deliveries: Sequence[Delivery]) -> Ran:
        started.update({delivery.event["body"]: trio.current_time() for delivery in deliveries})
        return await slow(10.0)(deliveries)

    rig = Rig(store, handle, concurrency=3)
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.outbox.run)
        await trio.sleep(25)
        came = trio.current_time()
        store.ready.append(make_delivery("other", app_id=OTHER))
        rig.mailbox.wake()
        await trio.sleep(2)
        nursery.cancel_scope.cancel()
    assert started["other"] - came < 0.5


async def test_place_kept_for_other_apps_is_not_taken_between_two_batches(autojump_clock: MockClock) -> None:
    store = MemoryOutbox(*map(make_delivery, range(300)))
    store.latency = 0.05
    sent: dict[str, float] = {}
    waits: list[float] = []

    async def handle(deliveries: Sequence[Delivery]) -> Ran:
        (delivery,) = deliveries[:1]
        body = delivery.event["body"]
        if body in sent:
            waits.append(trio.current_time() - sent[body])
        seconds = 0.01 if body in sent else 1.0 + body % 7 / 10
        await trio.sleep(seconds)
        return Ran([outcome(delivery)], seconds)

    rig = Rig(store, handle, concurrency=4)
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.outbox.run)
        for number in range(20):
            await trio.sleep(1.37)
            sent[f"other {number}"] = trio.current_time()
            store.ready.append(make_delivery(f"other {number}", app_id=OTHER))
            rig.mailbox.wake()
        await trio.sleep(2)
        nursery.cancel_scope.cancel()
    assert len(waits) == 20
    # all but the first few: lanes that start at the same moment may all find the flood
    assert sorted(waits)[16] < 0.2


async def test_batch_that_turns_out_to_be_slow_is_shared_with_other_lanes(autojump_clock: MockClock) -> None:
    fast, lazy = [make_delivery("fast") for _ in range(500)], [make_delivery(n) for n in range(100)]
    store = MemoryOutbox(*fast, *lazy)

    async def handle(deliveries: Sequence[Delivery]) -> Ran:
        if deliveries[0].event["body"] == "fast":
            some = [delivery for delivery in deliveries if delivery.event["body"] == "fast"]
            return await succeed(some)
        # one takes longer than a slice
        return await slow(1.0)(deliveries[:1])

    began = trio.current_time()
    await Rig(store, handle, concurrency=5).drain_when(lambda: len(store.acked) == 600)
    # in one lane it were 100 s; the fifth lane is kept for other apps
    assert trio.current_time() - began < 40
    assert sorted(one for one in store.acked if one != "fast") == list(range(100))
    assert store.buried == []


async def test_wake_between_a_claim_and_the_wait_is_not_missed(autojump_clock: MockClock) -> None:
    store = MemoryOutbox()
    rig = Rig(store, succeed, poll_interval=3600.0, concurrency=1)
    pull = store.pull
    late = [make_delivery("late")]

    async def pull_late(*given: Any) -> Pulled[Delivery]:
        pulled = await pull(*given)
        if late:
            # committed, and told of, while the answer that it is not there is on its way
            store.ready.append(late.pop())
            rig.mailbox.wake()
            await trio.sleep(1)
        return pulled

    store.pull = pull_late  # type: ignore[method-assign]
    await rig.drain_when(lambda: store.acked == ["late"], limit=60)


async def test_idle_outbox_asks_once_in_a_poll_interval(autojump_clock: MockClock) -> None:
    store = MemoryOutbox()
    rig = Rig(store, succeed, poll_interval=1.0)
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.outbox.run)
        await trio.sleep(100.5)
        nursery.cancel_scope.cancel()
    assert len(store.limits) <= 102


# Settling.


async def test_each_app_is_committed_and_woken_on_its_own(autojump_clock: MockClock) -> None:
    deliveries = [make_delivery(n, app_id=APP if n % 2 else OTHER) for n in range(4)]
    store = MemoryOutbox(*deliveries)
    message = NewMessage(uuid4(), "out", "1")  # type: ignore[arg-type]

    async def handle(batch: Sequence[Delivery]) -> Ran:
        await trio.sleep(0.0001)
        writes = (KvWrite("increment", "n", amount=1),)
        kinds = [Effects((message,)) if d.event["body"] < 2 else Effects(writes=writes) for d in batch]
        return Ran([outcome(d, effects=effects) for d, effects in zip(batch, kinds, strict=True)], 0.0001)

    rig = Rig(store, handle)
    await rig.drain_when(lambda: len(store.acked) == 4)
    assert {cause for cause, _ in store.sent} == {deliveries[0].id, deliveries[1].id}
    assert sorted(rig.woken) == sorted([(APP, 1), (OTHER, 1)])
    assert sorted(store.commits) == sorted([(APP, 1), (OTHER, 1)])


async def test_refused_commit_of_an_invocation_is_a_dead_letter_and_of_a_trigger_a_retry(
    autojump_clock: MockClock,
) -> None:
    once, thrice = make_delivery("once"), make_delivery("thrice", max_attempts=3)
    store = MemoryOutbox(once, thrice)
    store.refusals = {one.id: KvConflict("kv: 'n' was changed") for one in (once, thrice)}

    async def handle(batch: Sequence[Delivery]) -> Ran:
        await trio.sleep(0.0001)
        writes = Effects(writes=(KvWrite("set", "n", "1", if_version=0),))
        return Ran([outcome(delivery, effects=writes) for delivery in batch], 0.0001)

    rig = Rig(store, handle)
    await rig.drain_when(lambda: not store.ready and not store.claimed)
    assert store.buried == ["kv: 'n' was changed"]
    assert len(store.nacked) == 1
    assert (rig.outbox.failed, rig.outbox.dead) == (2, 1)


async def test_outage_keeps_what_is_to_be_settled(autojump_clock: MockClock) -> None:
    store = MemoryOutbox(*map(make_delivery, range(50)))
    rig = Rig(store, succeed)

    async def break_it() -> None:
        while not store.acked:
            await trio.sleep(0.001)
        store.outages = 6

    async with trio.open_nursery() as nursery:
        nursery.start_soon(break_it)
        await rig.drain_when(lambda: len(store.acked) == 50 and not store.outages)
    assert sorted(store.acked) == list(range(50))


async def test_leases_are_extended_at_a_third_while_a_handler_runs(autojump_clock: MockClock) -> None:
    store = MemoryOutbox(make_delivery(1))
    began = trio.current_time()
    await Rig(store, slow(90.0), lease=60.0).drain_when(lambda: bool(store.acked))
    assert [round(at - began) for at in store.extended] == [20, 40, 60, 80]


async def test_drain_finishes_what_runs_and_gives_the_rest_back(autojump_clock: MockClock) -> None:
    store = MemoryOutbox(*map(make_delivery, range(60)))
    running = trio.Event()

    async def handle(deliveries: Sequence[Delivery]) -> Ran:
        if len(deliveries) > 4:
            running.set()
            await trio.sleep(5)
            return Ran([outcome(deliveries[0])], 5.0)
        return await succeed(deliveries)

    rig = Rig(store, handle, concurrency=1)
    await rig.drain_when(running.is_set, limit=60)
    assert store.claimed == {}
    assert store.buried == []
    assert sorted([*store.acked, *(delivery.event["body"] for delivery in store.ready)]) == list(range(60))


async def test_closed_outbox_claims_nothing_until_it_is_asked_to_end(autojump_clock: MockClock) -> None:
    store = MemoryOutbox()
    rig = Rig(store, succeed)
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.outbox.run)
        await trio.sleep(5)
        rig.outbox.close()
        store.ready.append(make_delivery(1))
        rig.mailbox.wake()
        await trio.sleep(100)
        assert store.acked == []
        rig.outbox.drain()
    with trio.fail_after(10):
        # started anew by its supervisor, it stays closed
        async with trio.open_nursery() as nursery:
            await nursery.start(rig.outbox.run)
            await trio.sleep(5)
            rig.outbox.drain()
    assert store.acked == []


async def test_expired_leases_are_looked_for_at_every_interval_until_a_batch_comes_back_short(
    autojump_clock: MockClock,
) -> None:
    store = MemoryOutbox()
    store.expired = [(900, 100), (3, 2)]
    rig = Rig(store, succeed, reclaim_interval=30.0)
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.outbox.run)
        began = trio.current_time()
        await trio.sleep(65)
        nursery.cancel_scope.cancel()
    assert [round(at - began) for at in store.reclaimed_at] == [0, 0, 30, 60]
    details = rig.outbox.details()
    assert (details["reclaimed"], details["dead_lettered"]) == (903, 102)


async def test_sweep_that_the_server_cuts_short_is_tried_again_at_the_next_tick(autojump_clock: MockClock) -> None:
    store = MemoryOutbox()
    store.cut_short, store.expired = 2, [(3, 0)]
    rig = Rig(store, succeed, reclaim_interval=30.0)
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.outbox.run)
        await trio.sleep(45)
        assert rig.outbox.details()["reclaimed"] == 0
        await trio.sleep(30)
        nursery.cancel_scope.cancel()
    assert rig.outbox.details()["reclaimed"] == 3


# Handling, through a real engine.


class NoWorld:
    """A world that nothing in these tests asks."""

    find_script = count_depth = send_now = None


class Scripts:
    """The scripts of one app, behind a library that has not loaded them yet."""

    def __init__(self, **sources: str) -> None:
        self.scripts = [Script(ScriptId(uuid4()), APP, name, 1, text, "", NOW) for name, text in sources.items()]
        self.library = Library(self._heads, self._load, self._routes, WakeMailbox(), poll_interval=1.0)
        self.refreshed = 0

    def put(self, name: str, version: int, source: str) -> None:
        (old,) = [script for script in self.scripts if script.name == name]
        self.scripts.remove(old)
        self.scripts.append(Script(old.id, APP, name, version, source, "", NOW))

    async def _heads(self) -> list[ScriptHead]:
        self.refreshed += 1
        return [ScriptHead(script.id, script.version) for script in self.scripts]

    async def _load(self, ids: Sequence[ScriptId]) -> list[Script]:
        return [script for script in self.scripts if script.id in ids]

    async def _routes(self) -> list[Any]:
        return []


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine(EngineSettings(), NoWorld())  # type: ignore[arg-type]
    yield engine
    engine.close()


def make_handling(engine: Engine, scripts: Scripts, on_outcomes: Any = lambda outcomes: None) -> DeliveryHandling:
    return DeliveryHandling(
        engine, trio.CapacityLimiter(1), scripts.library, max_depth=8, slice_secs=0.05, on_outcomes=on_outcomes
    )


async def test_rows_of_several_scripts_run_in_one_hop_each_with_its_event(engine: Engine) -> None:
    scripts = Scripts(
        later="def handle(event, ctx):\n    return [event.source, event.caller, event.body, ctx.trigger_depth]\n",
        mourn="def handle(event, ctx):\n    return [event.source, event.original['payload'], event.attempts]\n",
    )
    heard: list[int] = []
    handling = make_handling(engine, scripts, lambda outcomes: heard.append(len(outcomes)))
    stored = {"dead_letter_id": "d", "original": {"payload": 1}, "error": None, "attempts": 3}
    ran = await handling(
        [make_delivery(7), make_delivery(script_name="mourn", source_kind="dead_letter", event=stored)]
    )
    assert [one.value for one in ran.outcomes if isinstance(one, Outcome)] == [
        ["invoke", "main", 7, 1],
        ["dead_letter", 1, 3],
    ]
    assert heard == [2]
    assert scripts.refreshed == 1


@pytest.mark.parametrize(
    ("changes", "error", "final"),
    [
        ({"script_app_id": OTHER}, "invoke: cross-app call refused", True),
        ({"trigger_depth": 9}, "invoke: depth limit exceeded (max 8)", True),
        ({"script_name": None, "script_version": None}, "invoke: the script is gone", True),
        ({"script_name": "gone"}, "invoke: script 'gone' not found", False),
        ({"source_kind": "pigeon"}, "outbox: this release does not deliver events of kind 'pigeon'", True),
        ({"event": [1]}, "outbox: the event of a invoke row must be a JSON object", True),
        ({"script_name": "broken"}, "script 'broken'", False),
    ],
)
async def test_edited_row_is_refused_when_it_fires_and_its_neighbours_run(
    engine: Engine, changes: dict[str, Any], error: str, final: bool
) -> None:
    scripts = Scripts(later="def handle(event, ctx):\n    return event.body\n", broken="def handle(event, ctx:\n")
    ran = await make_handling(engine, scripts)([make_delivery(1), make_delivery(2, **changes), make_delivery(3)])
    before, refused, after = ran.outcomes
    assert isinstance(before, Outcome)
    assert isinstance(after, Outcome)
    assert (before.value, after.value) == (1, 3)
    assert isinstance(refused, Refused)
    assert error in refused.error.message
    assert refused.final is final


async def test_script_that_was_saved_after_the_library_looked_runs_in_its_new_version(engine: Engine) -> None:
    scripts = Scripts(later="def handle(event, ctx):\n    return 'old'\n")
    handling = make_handling(engine, scripts)
    await handling([make_delivery()])
    scripts.put("later", 2, "def handle(event, ctx):\n    return 'new'\n")
    (ran,) = (await handling([make_delivery(script_version=2)])).outcomes
    assert isinstance(ran, Outcome)
    assert ran.value == "new"
    await handling([make_delivery(script_version=1)])
    assert scripts.refreshed == 2


async def test_slice_that_is_over_leaves_the_rest_for_later(engine: Engine) -> None:
    scripts = Scripts(
        later="def handle(event, ctx):\n    if event.body == 'slow':\n        import time\n        time.sleep(0.06)\n"
    )
    handling = make_handling(engine, scripts)
    refused = make_delivery(script_app_id=OTHER)
    ran = await handling([make_delivery(1), refused, make_delivery("slow"), make_delivery(3), refused])
    assert len(ran.outcomes) == 3
    only_refused = await handling([refused, refused])
    assert len(only_refused.outcomes) == 2
