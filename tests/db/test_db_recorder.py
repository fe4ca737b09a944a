"""The recorder on a real database: everything is there afterwards, once, whatever happens in between."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
import trio
from uuid_utils.compat import uuid7

from picloud.actors.recorder import Recorder, RecorderConfig
from picloud.actors.recording import Recording
from picloud.actors.runtime import WakeMailbox
from picloud.db.connection import Connection, connect
from picloud.db.execution_reads import (
    ExecutionFilter,
    ExecutionRecord,
    LogFilter,
    LogPosition,
    get_execution,
    get_log_horizon,
    list_executions,
    list_log,
    list_log_lines,
    list_trace,
)
from picloud.db.execution_rows import Chunk, write_chunks
from picloud.engine import EmptyWorld, Engine, EngineSettings, Job, Outcome, QueueEvent
from picloud.errors import DatabaseUnavailable, ExecutionNotFound
from picloud.types import AppId, ExecutionId, LogLine, Script, ScriptError, ScriptId, TriggerId

APP = AppId(uuid4())
TRIGGER = TriggerId(uuid4())
CALLER = """\
from picloud.sdk import invoke, log

def handle(event, ctx):
    log.info("before", n=1)
    invoke("callee", {"fail": event.payload})
    print("after")
"""
CALLEE = """\
from picloud.sdk import log

def handle(event, ctx):
    log.warning("inside")
    if event.body["fail"]:
        raise ValueError("no\\0such\\ud800thing")
"""


class OneScript(EmptyWorld):
    def find_script(self, app_id: AppId, name: str) -> Script | None:
        return Script(ScriptId(uuid4()), app_id, name, 4, CALLEE, "", datetime.now(UTC))


@pytest.fixture
def run() -> Any:
    engine = Engine(EngineSettings(timeout_secs=0.3), OneScript())

    def run(source: str, payload: object = None, **more: Any) -> Outcome:
        message_id = uuid7()
        event = QueueEvent("jobs", str(message_id), payload, 2, 3, datetime.now(UTC))
        job = Job(APP, "shop", engine.compile("work", source), 1, event, message_id, trigger_id=TRIGGER)
        (outcome,) = engine.run_slice([job._replace(**more)], slice_secs=1)
        return outcome

    yield run
    engine.close()


NO = "no\\x00such\\ud800thing"
NOOP = "def handle(event, ctx):\n    return None\n"


def make_recorder(database: str, recording: Recording, **config: Any) -> Recorder:
    dial = partial(connect, database, application_name="picloud-recorder")
    return Recorder(recording, dial, WakeMailbox(), RecorderConfig(**config))


async def write(database: str, recording: Recording) -> Recorder:
    recorder = make_recorder(database, recording)
    try:
        await recorder.write()
    finally:
        await recorder.hang_up()
    return recorder


async def everything(conn: Connection) -> list[ExecutionRecord]:
    return await list_executions(conn, APP, ExecutionFilter(), limit=1000)


async def test_execution_is_recorded_with_all_that_belongs_to_it(
    conn: Connection, database: str, run: Callable[..., Outcome]
) -> None:
    recording = Recording(1_000_000)
    outcome = run(NOOP)
    recording([outcome])
    await write(database, recording)
    (found,) = await everything(conn)
    assert found.id == found.root_execution_id == outcome.execution_id
    assert (found.script_name, found.script_version, found.source, found.queue_name) == ("work", 1, "queue", "jobs")
    assert (found.trigger_id, found.message_id, found.attempt) == (TRIGGER, outcome.job.key, 2)
    assert (found.status, found.error, found.log_lines, found.parent_execution_id) == ("ok", None, 0, None)
    assert found.started_at.timestamp() == pytest.approx(outcome.started_at, abs=1e-3)
    assert (found.duration_secs, found.cpu_secs) == (outcome.duration, outcome.cpu)
    # the id was made when the execution began
    assert (outcome.execution_id.int >> 80) / 1000 == pytest.approx(outcome.started_at, abs=0.5)


async def test_callee_is_an_execution_of_its_own_with_its_lines_and_its_error(
    conn: Connection, database: str, run: Callable[..., Outcome]
) -> None:
    recording = Recording(1_000_000)
    root = ExecutionId(uuid7())
    outcome = run(CALLER, True, root_execution_id=root)
    assert outcome.status == "error"
    recording([outcome])
    await write(database, recording)
    callee, caller = sorted(await everything(conn), key=lambda one: one.script_name)
    assert (callee.parent_execution_id, callee.root_execution_id) == (outcome.execution_id, root)
    assert (callee.source, callee.script_version, callee.trigger_depth) == ("invoke", 4, 1)
    whole = await get_execution(conn, APP, callee.id)
    assert whole.error is not None
    assert (whole.error["type"], whole.error["line"]) == ("ValueError", 6)
    assert whole.error["message"] == NO
    assert [frame["script"] for frame in whole.error["stack"]] == ["callee"]
    own = [line.message for line in await list_log_lines(conn, APP, caller.id)]
    assert (own, caller.log_lines) == (["before"], 1)
    assert [line.message for line in await list_log_lines(conn, APP, callee.id)] == ["inside"]
    assert [one.id for one in await list_trace(conn, APP, root, 10)] == [caller.id, callee.id]


async def test_what_postgresql_cannot_hold_costs_nobody_anything(
    conn: Connection, database: str, run: Callable[..., Outcome]
) -> None:
    recording = Recording(1_000_000)
    bad: dict[str, Any] = {"nul": "a\0b", "half": "\ud800", "nan": math.nan, "big": 10**5000, "k\0": {"\udfff": 1}}
    deep: Any = None
    for _ in range(5000):
        deep = [deep]
    lines = [LogLine("info", "x\0y\ud800", {name: value}, 1.7e9) for name, value in bad.items()]
    lines.append(LogLine("error", "deep", {"deep": deep}, 1.7e9))
    outcome = run(NOOP)
    error = ScriptError("E\0", "m\ud800", 1, "s\0")
    recording([outcome._replace(logs=tuple(lines), ok=False, error=error), run(NOOP)])
    recorder = await write(database, recording)
    assert (recorder.executions_written, recorder.logs_written) == (2, len(lines))
    found = await list_log_lines(conn, APP, outcome.execution_id)
    assert [line.message for line in found[:-1]] == ["x\\x00y\\ud800"] * len(bad)
    assert recording.figures().executions_dropped == 0


async def test_lost_answer_to_a_commit_records_nothing_twice(
    conn: Connection, database: str, run: Callable[..., Outcome]
) -> None:
    recording = Recording(1_000_000)
    recording([run(NOOP)])
    recorder = make_recorder(database, recording)
    chunks = recording.take(10**6)
    # as if the first try had been committed and its answer lost
    await write_chunks(conn, chunks)
    recorder._batch, recorder._tries = chunks, 1
    await recorder.write()
    await recorder.hang_up()
    assert len(await everything(conn)) == 1
    assert (recorder.executions_written, recording.figures().buffered) == (1, 0)


async def test_rows_that_are_refused_do_not_take_others_with_them(
    conn: Connection, database: str, run: Callable[..., Outcome]
) -> None:
    recording = Recording(1_000_000)
    recording([run(NOOP)])
    (good,) = recording.take(10**6)
    recording._add(Chunk(b"\0\x01", 1))
    recording._add(good)
    await write(database, recording)
    assert len(await everything(conn)) == 1
    assert recording.figures().executions_dropped == 1


async def test_outage_is_waited_for_and_the_rest_is_written(
    conn: Connection, database: str, run: Callable[..., Outcome]
) -> None:
    recording = Recording(1_000_000)
    tries = 0

    async def dial() -> Connection:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise DatabaseUnavailable("away")
        return await connect(database)

    recorder = Recorder(recording, dial, WakeMailbox(), RecorderConfig(interval=0.01))
    recording([run(NOOP) for _ in range(3)])
    async with trio.open_nursery() as nursery:
        await nursery.start(recorder.run)
        with trio.fail_after(20):
            while recorder.executions_written < 3:
                await trio.sleep(0.01)
        # what came last is written at the end
        recording([run(NOOP)])
        nursery.cancel_scope.cancel()
    assert tries == 3
    assert len(await everything(conn)) == 4
    cur = await conn.execute("select count(*) from pg_inherits where inhparent = 'executions'::regclass")
    assert await cur.fetchone() == (4,)


async def test_policies_are_read_when_an_app_changes(
    conn: Connection, database: str, run: Callable[..., Outcome]
) -> None:
    await conn.execute("insert into apps (id, name, record_executions) values (%s, 'shop', 'errors')", (APP,))
    recording = Recording(1_000_000)
    recorder = make_recorder(database, recording, interval=0.01)
    async with trio.open_nursery() as nursery:
        await nursery.start(recorder.run)
        with trio.fail_after(10):
            while not recording.policies:
                await trio.sleep(0.01)
            assert recording.policies[APP].mode == "errors"
            await conn.execute("update apps set record_executions = 'all'")
            recorder.mailbox.wake()
            while recording.policies:
                await trio.sleep(0.01)
        nursery.cancel_scope.cancel()


async def test_lists_filter_and_go_on_where_they_ended(
    conn: Connection, database: str, run: Callable[..., Outcome]
) -> None:
    recording = Recording(1_000_000)
    outcomes = [run(NOOP) for _ in range(5)]
    outcomes.append(run("def handle(event, ctx):\n    while True:\n        pass\n")._replace(duration=1.0))
    recording(outcomes)
    await write(database, recording)
    page = await list_executions(conn, APP, ExecutionFilter(), limit=4)
    rest = await list_executions(conn, APP, ExecutionFilter(), before=page[-1].id)
    assert [one.id for one in page + rest] == [one.execution_id for one in reversed(outcomes)]
    (slow,) = await list_executions(conn, APP, ExecutionFilter(statuses=["timeout"]))
    assert slow.id == outcomes[-1].execution_id
    for wanted, count in (
        (ExecutionFilter(queue_name="jobs", script_name="work", source="queue", trigger_id=TRIGGER), 6),
        (ExecutionFilter(queue_name="other"), 0),
        (ExecutionFilter(trigger_id=uuid4()), 0),
        (ExecutionFilter(age_secs=3600), 6),
        (ExecutionFilter(since=slow.started_at - timedelta(minutes=1)), 6),
        (ExecutionFilter(since=slow.started_at + timedelta(minutes=1)), 0),
    ):
        assert len(await list_executions(conn, APP, wanted)) == count, wanted
    with pytest.raises(ExecutionNotFound):
        await get_execution(conn, AppId(uuid4()), slow.id)


async def read_on(conn: Connection, position: LogPosition, **wanted: Any) -> list[Any]:
    with trio.fail_after(10):
        while True:
            horizon = await get_log_horizon(conn)
            found = await list_log(conn, APP, LogFilter(**wanted), horizon=horizon, after=position)
            if found:
                return found
            await trio.sleep(0.02)


async def test_log_is_read_backwards_in_pages_and_followed_without_a_gap(
    conn: Connection, database: str, run: Callable[..., Outcome]
) -> None:
    recording = Recording(1_000_000)
    start = await get_log_horizon(conn)
    recording([run(CALLER, False), run(CALLER, True)])
    await write(database, recording)
    lines = await read_on(conn, start)
    told = [line.message if line.status is None else line.error["message"] for line in lines]
    assert told == ["before", "after", "inside", "before", NO, "inside", NO]
    horizon = await get_log_horizon(conn)
    backwards: list[Any] = []
    before = None
    while page := await list_log(conn, APP, LogFilter(), horizon=horizon, before=before, limit=3):
        backwards += page
        before = LogPosition(page[-1].written_at, page[-1].execution_id, page[-1].seq)
    assert backwards == lines[::-1]
    last = LogPosition(lines[-1].written_at, lines[-1].execution_id, lines[-1].seq)
    recording([run("def handle(event, ctx):\n    print('later')\n")])
    await write(database, recording)
    assert [line.message for line in await read_on(conn, last)] == ["later"]
    assert len(await read_on(conn, start, level="warning")) == 4
    assert {line.execution_id for line in await read_on(conn, start, statuses=["error"])} == {
        line.execution_id for line in lines[3:]
    }


async def test_batch_that_is_being_written_holds_followers_back(conn: Connection, database: str) -> None:
    writer = await connect(database, application_name="picloud-recorder", autocommit=False)
    try:
        cur = await writer.execute("select now()")
        row = await cur.fetchone()
        assert row is not None
        await trio.sleep(0.15)
        assert (await get_log_horizon(conn)).written_at == row[0]
    finally:
        await writer.close()
