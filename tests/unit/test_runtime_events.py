"""The event stream and the reports of exits."""

from __future__ import annotations

import json
import logging

import pytest
import trio
from runtime_probes import Boom, Cast, running
from trio.testing import MockClock, wait_all_tasks_blocked

from picloud.actors.runtime import Backoff, DynamicSupervisor, Event, EventStream, Journal, Subscription, Supervisor


async def take(subscription: Subscription, number: int) -> list[Event]:
    return [await anext(subscription) for _ in range(number)]


def emit(stream: EventStream, number: int) -> None:
    for _ in range(number):
        stream.emit("started", "/a")


async def test_life_of_a_child_is_told_in_order(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    root = Supervisor("root", cast.specs(), journal=cast.journal)
    events = cast.journal.events.subscribe(after=0)
    async with running(root):
        cast["a"].crash()
        await wait_all_tasks_blocked()
    told = [(event.kind, event.path, event.incarnation, event.reason) for event in await take(events, 7)]
    assert told == [
        ("started", "/root/a", 1, None),
        ("started", "/root", 1, None),
        ("exited", "/root/a", 1, "error"),
        ("restarting", "/root/a", 1, None),
        ("started", "/root/a", 2, None),
        ("stopped", "/root/a", 2, "shutdown"),
        ("stopped", "/root", 1, "shutdown"),
    ]
    assert cast.journal.events.last_id == 7


async def test_backoff_and_parking_are_told_with_the_error(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    pool = DynamicSupervisor("pool", backoff=Backoff(2.0, 2.0, 0.0), max_restarts=1, cool_down=60.0)
    async with running(Supervisor("root", [pool.as_child()], journal=cast.journal)):
        await pool.start_child(cast.spec("a"))
        events = cast.journal.events.subscribe()
        cast["a"].crash()
        await trio.sleep(3)
        cast["a"].crash()
        await trio.sleep(1)
        await pool.terminate_child("a")
        told = await take(events, 6)
    assert [event.kind for event in told] == ["exited", "restarting", "started", "exited", "parked", "stopped"]
    assert told[1].delay == 2.0
    parked = told[4].to_json()
    assert json.loads(json.dumps(parked)) == parked
    assert (parked["path"], parked["delay"], parked["error_type"]) == ("/root/pool/a", 60.0, "Boom")
    assert parked["message"] == "a went off"
    assert str(parked["at"]).endswith("Z")


async def test_ids_increase_and_a_reader_resumes_after_the_one_it_saw(autojump_clock: MockClock) -> None:
    stream = EventStream()
    emit(stream, 5)
    assert [event.id for event in await take(stream.subscribe(after=2), 3)] == [3, 4, 5]


async def test_reader_without_a_place_sees_only_what_comes(autojump_clock: MockClock) -> None:
    stream = EventStream()
    emit(stream, 5)
    events = stream.subscribe()
    with trio.move_on_after(1) as scope:
        await anext(events)
    assert scope.cancelled_caught
    emit(stream, 1)
    assert (await anext(events)).id == 6


async def test_waiting_readers_are_woken(autojump_clock: MockClock) -> None:
    stream, seen = EventStream(), []

    async def read() -> None:
        async for event in stream.subscribe():
            seen.append(event.id)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        emit(stream, 2)
        await wait_all_tasks_blocked()
        assert sorted(seen) == [1, 1, 2, 2]
        nursery.cancel_scope.cancel()


async def test_reader_that_is_too_slow_learns_how_much_it_missed(autojump_clock: MockClock) -> None:
    stream = EventStream(capacity=3)
    events = stream.subscribe()
    emit(stream, 10)
    told = await take(events, 4)
    assert [(event.id, event.kind, event.missed) for event in told] == [
        (7, "lost", 7),
        (8, "started", 0),
        (9, "started", 0),
        (10, "started", 0),
    ]


async def test_reader_may_resume_after_the_news_of_a_loss(autojump_clock: MockClock) -> None:
    stream = EventStream(capacity=3)
    emit(stream, 10)
    assert [event.id for event in await take(stream.subscribe(after=7), 3)] == [8, 9, 10]


async def test_place_of_an_earlier_process_gets_all_there_is(autojump_clock: MockClock) -> None:
    stream = EventStream()
    emit(stream, 2)
    assert [event.id for event in await take(stream.subscribe(after=9000), 2)] == [1, 2]


async def test_journal_of_the_root_is_used_by_all_below_unless_they_have_their_own(autojump_clock: MockClock) -> None:
    cast, own = Cast("ab"), Journal(report=None)
    near = Supervisor("near", [cast.spec("a")])
    apart = Supervisor("apart", [cast.spec("b")], journal=own)
    root = Supervisor("root", [near.as_child(), apart.as_child()], journal=cast.journal)
    assert near.journal is cast.journal
    async with running(root):
        pass
    assert {event.path for event in await take(own.events.subscribe(after=0), 2)} == {"/root/apart/b"}
    assert {report.child_id for report in cast.reports} == {"a", "near", "apart"}


# Reports


async def test_report_has_the_fields_of_otp(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    async with running(Supervisor("root", cast.specs(a="transient"), journal=cast.journal)):
        cast["a"].crash(Boom("bad"))
        await wait_all_tasks_blocked()
    report = cast.reports[0]
    assert report._asdict() == {
        "supervisor": "/root",
        "context": "child_terminated",
        "reason": "Boom: bad",
        "child_id": "a",
        "restart": "transient",
        "incarnation": 1,
        "error": report.error,
    }
    assert isinstance(report.error, Boom)


async def test_hook_that_fails_hurts_no_supervisor(autojump_clock: MockClock, caplog: pytest.LogCaptureFixture) -> None:
    def fail(report: object) -> None:
        raise Boom("the log is full")

    cast = Cast("a")
    async with running(Supervisor("root", cast.specs(), journal=Journal(report=fail))) as outcome:
        cast["a"].crash()
        await wait_all_tasks_blocked()
        assert cast["a"].starts == 2
    assert outcome.error is None
    assert "hook for exit reports failed" in caplog.text


async def test_default_report_is_one_line_of_the_standard_log(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    cast = Cast("a")
    async with running(Supervisor("root", cast.specs())):
        cast["a"].crash(Boom("bad"))
        await wait_all_tasks_blocked()
    crash, stop = caplog.records
    assert crash.levelno == logging.ERROR
    assert crash.getMessage() == (
        "child ended: supervisor=/root context=child_terminated reason=Boom: bad child_id=a restart=permanent "
        "incarnation=1"
    )
    assert crash.exc_info is not None
    assert stop.levelno == logging.DEBUG


async def test_group_is_described_by_its_leaves(autojump_clock: MockClock) -> None:
    cast = Cast("ab")
    root = Supervisor("root", cast.specs(a="transient", b="transient"), journal=cast.journal)
    async with running(root):
        cast["a"].crash(ExceptionGroup("Exceptions from Trio nursery", [Boom("only")]))
        cast["b"].crash(ExceptionGroup("several", [Boom("x"), ExceptionGroup("in", [KeyError("y")])]))
        await wait_all_tasks_blocked()
        a, b = (root.snapshot(f"/root/{name}").last_exit for name in "ab")
    assert (a.error_type, a.message) == ("Boom", "only")
    assert (b.error_type, b.message) == ("ExceptionGroup", "Boom: x; KeyError: 'y'")


async def test_long_messages_are_cut(autojump_clock: MockClock) -> None:
    cast = Cast("a")
    root = Supervisor("root", cast.specs(), journal=cast.journal)
    async with running(root):
        cast["a"].crash(Boom("x" * 10_000))
        await wait_all_tasks_blocked()
        last_exit = root.snapshot("/root/a").last_exit
    assert last_exit is not None
    assert len(last_exit.message or "") == 500
