"""`picloud logs` and `picloud trace`, against a node that answers from a script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from cli_probes import TOKEN, Ran, Request, ScriptedNode, run_cli, scripted_node

LINE = {
    "execution_id": "e1",
    "seq": 1,
    "script": "work",
    "level": "info",
    "at": "2026-12-01T08:00:00.123456Z",
    "message": "priced",
    "fields": {"order": 7},
    "status": None,
    "error": None,
}
ERROR = {"type": "KeyError", "message": "'sku'\nmore", "line": 7, "source": "x", "stack": []}
FAILURE = {**LINE, "seq": 2, "level": "error", "message": "", "fields": None, "status": "timeout", "error": ERROR}
EXECUTION = {
    "id": "e1",
    "root_execution_id": "e0",
    "parent_execution_id": "e0",
    "script": "work",
    "version": 3,
    "source": "queue",
    "queue_name": "orders",
    "message_id": "m1",
    "request_id": None,
    "attempt": 2,
    "status": "error",
    "started_at": "2026-12-01T08:00:00Z",
    "duration_secs": 0.25,
    "cpu_secs": 0.01,
    "error": {**ERROR, "stack": [{"script": "work", "line": 7, "function": "handle", "source": "x['sku']"}]},
}


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    with scripted_node() as served:
        yield served


def run(node: ScriptedNode, *args: str) -> Ran:
    return run_cli(*args, "--url", node.url, "--token", TOKEN)


def page(*items: dict[str, Any], next_cursor: str | None = None, follow: str = "f") -> tuple[int, Any]:
    return 200, {"items": list(items), "next_cursor": next_cursor, "follow_cursor": follow}


def test_last_lines_are_printed_the_newest_at_the_end(node: ScriptedNode) -> None:
    def answer(request: Request) -> tuple[int, Any]:
        if "cursor" in request.query:
            return page({**LINE, "execution_id": "e0", "script": "first", "message": "begun", "fields": None})
        return page(FAILURE, LINE, next_cursor="c")

    node.answers["GET /apps/shop/logs"] = answer
    out = run(node, "logs", "shop", "--status", "failed", "--script", "work").out.splitlines()
    assert [line[13:] if line[2] == ":" else line for line in out] == [
        "── first  e0",
        "info    begun",
        "── work  e1",
        "info    priced  order=7",
        "timeout  KeyError: 'sku' (line 7)",
    ]
    assert node.requests[0].query["status"] == ["failed"]
    assert node.requests[0].query["script"] == ["work"]


def test_no_more_lines_than_asked_for(node: ScriptedNode) -> None:
    node.answers["GET /apps/shop/logs"] = page(FAILURE, LINE, next_cursor="c")
    assert json.loads(run(node, "logs", "shop", "--limit", "1", "--json").out) == {"items": [FAILURE]}
    node.answers["GET /apps/shop/logs"] = page()
    assert run(node, "logs", "shop").out == "nothing logged\n"


def test_following_goes_on_from_cursor_to_cursor(node: ScriptedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str] | None] = []

    def answer(request: Request) -> tuple[int, Any]:
        asked.append(request.query.get("after"))
        if len(asked) == 4:
            return 404, {"code": "app_not_found", "detail": "no app 'shop'"}
        return page({**LINE, "seq": len(asked)}, follow=f"f{len(asked)}")

    monkeypatch.setattr("time.sleep", lambda seconds: None)
    node.answers["GET /apps/shop/logs"] = answer
    ran = run(node, "logs", "shop", "--follow", "--json")
    assert [json.loads(line)["seq"] for line in ran.out.splitlines()] == [1, 2, 3]
    assert asked == [None, ["f1"], ["f2"], ["f3"]]
    assert ran.code != 0


def test_one_execution_is_shown_whole(node: ScriptedNode) -> None:
    execution = {**EXECUTION, "logs": [{key: LINE[key] for key in ("seq", "level", "at", "message", "fields")}]}
    node.answers["GET /apps/shop/executions/e1"] = (200, execution)
    out = run(node, "logs", "shop", "--execution", "e1").out
    for part in (
        "script    work, version 3\n",
        "source    queue orders, attempt 2\n",
        "root      e0\n",
        "KeyError: 'sku'\nmore\n  work, line 7, in handle\n    x['sku']\n",
        "info    priced  order=7\n",
    ):
        assert part in out
    assert json.loads(run(node, "logs", "shop", "--execution", "e1", "--json").out) == execution
    refused = run(node, "logs", "shop", "--execution", "e1", "--follow")
    assert (refused.code, "--execution shows one execution" in refused.err) == (2, True)


def test_trace_is_a_tree(node: ScriptedNode) -> None:
    def item(number: int, depth: int, **more: Any) -> dict[str, Any]:
        return {**EXECUTION, "id": f"e{number}", "depth": depth, "status": "ok", "error": None, "attempt": 1, **more}

    late = {"started_at": "2026-12-01T08:00:01.5Z", "source": "dead_letter", "queue_name": None}
    items = [
        item(0, 0),
        item(1, 1, status="timeout", error=ERROR),
        item(2, 2, **late),
        item(3, 1, source="invoke", queue_name=None),
    ]
    trace = {"root_execution_id": "e0", "items": items, "truncated": True}
    node.answers["GET /apps/shop/executions/e3/trace"] = (200, trace)
    assert run(node, "trace", "shop", "e3").out.splitlines() == [
        "root e0",
        "└── ● work  queue orders  +0ms, took 250ms  e0",
        "    ├── ● work  queue orders  timeout  +0ms, took 250ms  e1",
        "    │     KeyError: 'sku' (line 7)",
        "    │   └── ● work  dead letter  +1s, took 250ms  e2".replace("+1s", "+2s"),
        "    └── ● work  invoke  +0ms, took 250ms  e3",
        "only the first 4 executions are shown",
    ]
    assert json.loads(run(node, "trace", "shop", "e3", "--json").out) == trace


def test_trace_of_a_long_chain_is_printed(node: ScriptedNode) -> None:
    items = [{**EXECUTION, "id": f"e{depth}", "depth": depth, "error": None} for depth in range(1000)]
    node.answers["GET /apps/shop/executions/e0/trace"] = (
        200,
        {"root_execution_id": "e0", "items": items, "truncated": False},
    )
    ran = run(node, "trace", "shop", "e0")
    assert (ran.code, len(ran.out.splitlines())) == (0, 1001)
