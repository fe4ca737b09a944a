"""What ran, over the API: lists, one execution, traces, the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from http_api import Api, Surroundings
from uuid_utils.compat import uuid7

from picloud.db.execution_rows import (
    Chunk,
    ExecutionFate,
    encode_fate,
    encode_head,
    encode_log,
    encode_own,
    write_chunks,
)
from picloud.db.pool import Pool
from picloud.types import App, ExecutionStatus

EXECUTIONS = "/api/v1/apps/shop/executions"
LOGS = "/api/v1/apps/shop/logs"
TRIGGER = uuid4()
ERROR = {"type": "ValueError", "message": "no", "line": 3, "source": "raise", "stack": [{"script": "work", "line": 3}]}


class Ran:
    """Writes executions as the recorder does."""

    def __init__(self, pool: Pool, app: App) -> None:
        self._pool = pool
        self._app = app

    async def __call__(
        self,
        script: str = "work",
        *,
        status: ExecutionStatus = "ok",
        root: UUID | None = None,
        parent: UUID | None = None,
        logs: tuple[str, ...] = (),
    ) -> UUID:
        execution_id, app_id = uuid7(), self._app.id
        fate = ExecutionFate(status, len(logs), root, parent, None, None if status == "ok" else ERROR)
        row = (
            encode_head(app_id, script, 1, "queue", TRIGGER, "jobs"),
            encode_own(execution_id, uuid7(), datetime.now(UTC).timestamp(), 0.1, 0.05, 1, 0),
            encode_fate(fate),
        )
        lines = [
            encode_log(app_id, execution_id, seq, script, "info", 1.7e9, text, {"n": seq})
            for seq, text in enumerate(logs, 1)
        ]
        async with self._pool.connection() as conn:
            await write_chunks(conn, [Chunk(b"".join(row), 1, b"".join(lines), len(lines))])
        return execution_id


@pytest.fixture
async def ran(pool: Pool, shop: App) -> Ran:
    return Ran(pool, shop)


async def ids(api: Api, query: str = "") -> list[str]:
    answer = await api.get(f"{EXECUTIONS}{query}")
    assert answer.status == 200, answer.body
    return [one["id"] for one in answer.body["items"]]


async def test_executions_come_newest_first_in_pages_and_by_filter(api: Api, ran: Ran) -> None:
    made = [str(await ran("work")) for _ in range(3)]
    failed = str(await ran("other", status="timeout"))
    assert await ids(api) == [failed, *reversed(made)]
    first = (await api.get(f"{EXECUTIONS}?limit=3")).body
    assert await ids(api, f"?limit=3&cursor={first['next_cursor']}") == [made[0]]
    assert await ids(api, "?status=failed") == await ids(api, "?status=timeout") == [failed]
    assert await ids(api, "?script=other&queue=jobs&trigger=queue&since=1h") == [failed]
    assert await ids(api, f"?trigger={TRIGGER}&status=ok&limit=1") == [made[2]]
    assert await ids(api, "?trigger=http") == await ids(api, f"?trigger={uuid4()}") == []
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    assert await ids(api, f"?since={later}") == []
    child = str(await ran(root=UUID(made[0]), parent=UUID(made[0])))
    assert await ids(api, f"?root={made[0]}") == [child, made[0]]


@pytest.mark.parametrize(
    ("query", "parameter"), [("status=bad", "status"), ("since=yesterday", "since"), ("root=1", "root"), ("x=1", "x")]
)
async def test_filter_that_cannot_be_is_refused_by_name(api: Api, shop: App, query: str, parameter: str) -> None:
    refused = await api.get(f"{EXECUTIONS}?{query}")
    assert (refused.status, refused.body["errors"][0]["parameter"]) == (422, parameter)


async def test_one_execution_is_shown_with_its_error_and_its_lines(api: Api, ran: Ran) -> None:
    failed = await ran(status="error", logs=("one", "two"))
    shown = (await api.get(f"{EXECUTIONS}/{failed}")).body
    assert (shown["status"], shown["script"], shown["version"], shown["error"]) == ("error", "work", 1, ERROR)
    assert [(line["seq"], line["message"], line["fields"]) for line in shown["logs"]] == [
        (1, "one", {"n": 1}),
        (2, "two", {"n": 2}),
    ]
    listed = (await api.get(EXECUTIONS)).body["items"][0]
    assert "stack" not in listed["error"]
    for unknown in (uuid4(), "x"):
        assert (await api.get(f"{EXECUTIONS}/{unknown}")).code == "execution_not_found"
        assert (await api.get(f"{EXECUTIONS}/{unknown}/trace")).code == "execution_not_found"


async def test_trace_is_a_tree_of_what_the_root_caused(api: Api, ran: Ran) -> None:
    root = await ran("root")
    left = await ran("left", root=root, parent=root)
    right = await ran("right", root=root, parent=root)
    deep = await ran("deep", root=root, parent=left)
    orphan = await ran("orphan", root=root, parent=uuid4())
    await ran("stranger")
    for asked in (root, deep):
        trace = (await api.get(f"{EXECUTIONS}/{asked}/trace")).body
        assert trace["root_execution_id"] == str(root)
        assert [(one["script"], one["depth"]) for one in trace["items"]] == [
            ("root", 0),
            ("left", 1),
            ("deep", 2),
            ("right", 1),
            ("orphan", 1),
        ]
        assert trace["truncated"] is False
    assert orphan
    assert right


async def test_trace_without_its_root_and_longer_than_is_shown(api: Api, ran: Ran) -> None:
    root = uuid7()
    parent: UUID = root
    for _ in range(1100):
        parent = await ran(root=root, parent=parent)
    trace = (await api.get(f"{EXECUTIONS}/{root}/trace")).body
    assert (len(trace["items"]), trace["truncated"]) == (1000, True)
    assert trace["items"][-1]["depth"] == 999


async def follow(api: Api, cursor: str, query: str = "") -> tuple[list[dict[str, Any]], str]:
    """Ask until something came: lines are shown a moment after they were written."""
    for _ in range(200):
        answer = (await api.get(f"{LOGS}?after={cursor}{query}")).body
        if answer["items"]:
            return answer["items"], answer["follow_cursor"]
        cursor = answer["follow_cursor"]
    raise AssertionError("nothing came")


async def test_log_is_followed_and_read_backwards(api: Api, ran: Ran) -> None:
    start = (await api.get(LOGS)).body
    assert (start["items"], start["next_cursor"]) == ([], None)
    await ran("work", logs=("one", "two"))
    failed = await ran("other", logs=("three",), status="error")
    seen: list[dict[str, Any]] = []
    cursor = start["follow_cursor"]
    while len(seen) < 4:
        items, cursor = await follow(api, cursor, "&limit=2")
        seen += items
    assert [line["message"] for line in seen] == ["one", "two", "three", ""]
    assert (seen[-1]["status"], seen[-1]["error"]["message"], seen[-1]["execution_id"]) == ("error", "no", str(failed))
    backwards: list[dict[str, Any]] = []
    query = "?limit=3"
    while query:
        page = (await api.get(f"{LOGS}{query}")).body
        backwards += page["items"]
        query = f"?limit=3&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert backwards == seen[::-1]
    assert [line["seq"] for line in (await api.get(f"{LOGS}?level=warning")).body["items"]] == [2**31 - 1]
    assert len((await api.get(f"{LOGS}?script=work")).body["items"]) == 2
    assert len((await api.get(f"{LOGS}?status=failed")).body["items"]) == 2


@pytest.mark.parametrize("query", ["cursor=AAAA", "after=x", "level=loud", "cursor=MSAyIDM"])
async def test_bad_place_in_the_log_is_refused(api: Api, shop: App, query: str) -> None:
    refused = await api.get(f"{LOGS}?{query}")
    assert refused.status == 422


async def test_app_says_which_of_its_executions_are_recorded(api: Api, shop: App, around: Surroundings) -> None:
    assert (await api.get("/api/v1/apps/shop")).body["record_executions"] == "all"
    changed = await api.patch("/api/v1/apps/shop", {"record_executions": "sampled", "record_sample_rate": 0.25})
    assert (changed.status, changed.body["record_executions"], changed.body["record_sample_rate"]) == (
        200,
        "sampled",
        0.25,
    )
    assert changed.body["name"] == "shop"
    assert "triggers" in around.changed
    for bad in ({"record_executions": "some"}, {"record_sample_rate": 2}, {"record_sample_rate": "1"}):
        assert (await api.patch("/api/v1/apps/shop", bad)).status == 422


async def test_deleted_app_leaves_no_execution_behind(api: Api, ran: Ran, pool: Pool) -> None:
    await ran(logs=("one",))
    assert (await api.delete("/api/v1/apps/shop")).status == 204
    async with pool.connection() as conn:
        cur = await conn.execute("select (select count(*) from executions), (select count(*) from execution_logs)")
        assert await cur.fetchone() == (0, 0)
