"""`invoke`, `invoke_async` and `retry` in a real node, behind HTTP routes, under the reference's names."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from node_process import HANG_LIMIT, NodeProcess, wait_until

from picloud.db.embedded import EmbeddedPostgres

SCRIPTS = {
    "price": """
def handle(event, ctx):
    return {"sku": event.body["sku"], "total": 42, "caller": event.caller, "depth": ctx.trigger_depth,
            "request_id": ctx.request_id, "root": ctx.root_execution_id}
""",
    "by-name": """
def handle(event, ctx):
    return {"price": invoke("price", {"sku": event.body["sku"]}), "mine": [ctx.request_id, ctx.execution_id]}
""",
    "by-route": """
def handle(event, ctx):
    return [invoke("/price", {"sku": "a"})["total"], invoke("/echo/7", {"x": 1}, method="PUT")]
""",
    "echo": """
def handle(event, ctx):
    if event.source == "invoke":
        return event.body
    return {"method": event.method, "path": event.path, "params": event.params, "query": event.query,
            "body": event.body, "raw": len(event.raw), "agent": event.headers.get("x-agent")}
""",
    "cross": """
def handle(event, ctx):
    return invoke("other-app/secret")
""",
    "deep": """
def handle(event, ctx):
    return invoke("deep", ctx.trigger_depth)
""",
    "later": """
def handle(event, ctx):
    kv.set("ran", [event.source, event.caller, event.body, ctx.trigger_depth])
""",
    "fails-later": """
def handle(event, ctx):
    raise ValueError("not today")
""",
    "async": """
def handle(event, ctx):
    made = invoke_async(event.body["script"], {"n": 1})
    if event.body.get("fail"):
        raise ValueError("after all not")
    return made
""",
    "ran": """
def handle(event, ctx):
    return [kv.get("ran")]
""",
    "retry": """
def handle(event, ctx):
    tries = []
    def attempt():
        tries.append(1)
        queue.enqueue("attempts", len(tries))
        if len(tries) < event.body["succeeds_at"]:
            raise ValueError(event.body.get("error", "boom") + f" {len(tries)}")
        return "done"
    policy = retry.policy(max_attempts=3, base_ms=1, on_codes=event.body.get("codes", []))
    try:
        return {"value": retry.run(policy, attempt), "tries": len(tries)}
    except ValueError as error:
        return Response({"error": str(error), "tries": len(tries)}, status=502)
""",
    "responses": """
def handle(event, ctx):
    kind = event.params["kind"]
    if kind == "none":
        return None
    if kind == "text":
        return "hello"
    if kind == "bytes":
        return Response(b"\\x00\\xff", headers={"Content-Type": "image/png", "X-Own": "yes"})
    if kind == "teapot":
        return Response({"short": True}, status=418)
    if kind == "raise":
        queue.enqueue("out", 1)
        raise ValueError("the author's secret")
    if kind == "slow":
        while True:
            pass
    queue.enqueue("out", kind)
    return [kind]
""",
}
ROUTES = {
    "price": ("POST", "/price"),
    "by-name": ("POST", "/by-name"),
    "by-route": ("GET", "/by-route"),
    "echo": ("PUT", "/echo/:id"),
    "cross": ("GET", "/cross"),
    "deep": ("GET", "/deep"),
    "async": ("POST", "/async"),
    "ran": ("GET", "/ran"),
    "retry": ("POST", "/retry"),
    "responses": ("GET", "/responses/:kind"),
}


def write_app(folder: Path) -> Path:
    folder.mkdir()
    lines = ['[app]\nname = "calls"\n']
    lines += [
        f'[[triggers.http]]\nmethod = "{method}"\npath = "{path}"\nscript = "{script}"\n'
        for script, (method, path) in ROUTES.items()
    ]
    (folder / "picloud.toml").write_text("\n".join(lines))
    for name, source in SCRIPTS.items():
        (folder / f"{name}.py").write_text(source)
    return folder


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that the database's user can reach, even where we are root."""
    made = Path(tempfile.mkdtemp(prefix="picloud-test-"))
    made.chmod(0o711)
    try:
        yield made
    finally:
        shutil.rmtree(made)


@pytest.fixture(scope="module")
def node(folder: Path) -> Iterator[NodeProcess]:
    app = write_app(folder / "app")
    env = {"PICLOUD_EXECUTION_TIMEOUT_SECS": "2"}
    with NodeProcess(folder / "home", str(app), env=env) as started:
        with started.client() as client:
            client.post("/api/v1/apps", json={"name": "other-app"}).raise_for_status()
            script = {"name": "secret", "source": "def handle(event, ctx):\n    return 'theirs'\n"}
            client.post("/api/v1/apps/other-app/scripts", json=script).raise_for_status()
        yield started


def call(node: NodeProcess, method: str, path: str, **request: Any) -> httpx.Response:
    """A request of anybody: no token."""
    return httpx.request(method, f"{node.credentials['url']}/fn/calls{path}", timeout=30.0, **request)


def dead_letters(node: NodeProcess) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = node.get("/apps/calls/dead_letters")["items"]
    return items


def test_invoke_by_name_same_app_returns_value(node: NodeProcess) -> None:
    answer = call(node, "POST", "/by-name", json={"sku": "a"}, headers={"X-Request-Id": "mine-7"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (200, "mine-7")
    price = answer.json()["price"]
    request_id, execution_id = answer.json()["mine"]
    assert (price["sku"], price["total"], price["caller"], price["depth"]) == ("a", 42, "by-name", 1)
    assert (price["request_id"], request_id, price["root"]) == ("mine-7", "mine-7", execution_id)


def test_invoke_by_route_falls_back_from_post_to_get_and_takes_a_method(node: NodeProcess) -> None:
    assert call(node, "GET", "/by-route").json() == [42, {"x": 1}]


def test_invoke_cross_app_rejects(node: NodeProcess) -> None:
    answer = call(node, "GET", "/cross")
    assert answer.status_code == 500
    assert "theirs" not in answer.text
    wait_until(lambda: "invoke: cross-app call refused" in node.log.read_text(), HANG_LIMIT)


def test_invoke_depth_limit_exceeds_cleanly(node: NodeProcess) -> None:
    answer = call(node, "GET", "/deep")
    assert answer.status_code == 500
    wait_until(lambda: "invoke: depth limit exceeded (max 8)" in node.log.read_text(), HANG_LIMIT)
    assert call(node, "POST", "/price", json={"sku": "b"}).status_code in (200, 500)


def test_invoke_async_enqueues_outbox_row(node: NodeProcess) -> None:
    made = call(node, "POST", "/async", json={"script": "later"})
    assert (made.status_code, len(made.text)) == (200, 36)
    wait_until(lambda: call(node, "GET", "/ran").json() == [["invoke", "async", {"n": 1}, 1]], HANG_LIMIT)
    with psycopg.connect(EmbeddedPostgres(node.home).dsn) as conn:
        assert conn.execute("select count(*) from outbox").fetchone() == (0,)


def test_invoke_async_runs_once_and_its_failure_is_a_dead_letter(node: NodeProcess) -> None:
    assert call(node, "POST", "/async", json={"script": "fails-later"}).status_code == 200
    wait_until(lambda: [one for one in dead_letters(node) if one["source"] == "invoke"], HANG_LIMIT)
    (dead,) = [one for one in dead_letters(node) if one["source"] == "invoke"]
    assert (dead["attempts"], dead["error"]["message"]) == (1, "not today")


def test_invoke_async_of_a_handler_that_fails_leaves_nothing(node: NodeProcess) -> None:
    before = len(dead_letters(node))
    assert call(node, "POST", "/async", json={"script": "fails-later", "fail": True}).status_code == 500
    assert call(node, "POST", "/async", json={"script": "none"}).status_code == 500
    assert len(dead_letters(node)) == before


def test_retry_run_eventually_succeeds_inside_http_handler(node: NodeProcess) -> None:
    before = node.queues("calls").get("attempts", {}).get("ready", 0)
    answer = call(node, "POST", "/retry", json={"succeeds_at": 3})
    assert (answer.status_code, answer.json()) == (200, {"value": "done", "tries": 3})
    # the attempts that failed took their effects back
    assert node.queues("calls")["attempts"]["ready"] == before + 1


def test_retry_run_surfaces_last_error_after_max_attempts(node: NodeProcess) -> None:
    answer = call(node, "POST", "/retry", json={"succeeds_at": 9})
    assert (answer.status_code, answer.json()) == (502, {"error": "boom 3", "tries": 3})


def test_retry_on_codes_filters_unmatched_errors(node: NodeProcess) -> None:
    unmatched = call(node, "POST", "/retry", json={"succeeds_at": 2, "codes": ["503"], "error": "404 gone"})
    assert (unmatched.status_code, unmatched.json()) == (502, {"error": "404 gone 1", "tries": 1})
    matched = call(node, "POST", "/retry", json={"succeeds_at": 2, "codes": ["503"], "error": "503 later"})
    assert matched.json() == {"value": "done", "tries": 2}


@pytest.mark.parametrize(
    ("kind", "status", "content_type", "content"),
    [
        ("none", 204, None, b""),
        ("text", 200, "text/plain; charset=utf-8", b"hello"),
        ("bytes", 200, "image/png", b"\x00\xff"),
        ("teapot", 418, "application/json", b'{"short":true}'),
        ("list", 200, "application/json", b'["list"]'),
    ],
)
def test_what_a_handler_returns_is_what_the_client_gets(
    node: NodeProcess, kind: str, status: int, content_type: str | None, content: bytes
) -> None:
    answer = call(node, "GET", f"/responses/{kind}")
    assert (answer.status_code, answer.headers.get("content-type"), answer.content) == (status, content_type, content)
    head = call(node, "HEAD", f"/responses/{kind}")
    assert (head.status_code, head.content) == (status, b"")


def test_failures_of_handlers_tell_the_client_no_more_than_the_execution(node: NodeProcess) -> None:
    before = node.queues("calls").get("out", {}).get("ready", 0)
    failed = call(node, "GET", "/responses/raise")
    assert (failed.status_code, failed.json()["code"]) == (500, "handler_failed")
    assert failed.headers["x-execution-id"] in failed.json()["detail"]
    assert "secret" not in failed.text
    slow = call(node, "GET", "/responses/slow")
    assert (slow.status_code, slow.json()["code"]) == (504, "handler_timeout")
    assert node.queues("calls").get("out", {}).get("ready", 0) == before


@pytest.mark.parametrize(
    ("request_", "seen"),
    [
        ({"json": {"a": 1}}, {"body": {"a": 1}, "raw": 8}),
        ({"content": "text", "headers": {"Content-Type": "text/plain"}}, {"body": "text", "raw": 4}),
        ({"data": {"a": "1", "b": "x y"}}, {"body": {"a": "1", "b": "x y"}}),
        ({"content": b"\x00\x01", "headers": {"Content-Type": "image/png"}}, {"body": None, "raw": 2}),
        ({"params": {"q": "x"}, "headers": {"X-Agent": "me"}}, {"body": None, "query": {"q": "x"}, "agent": "me"}),
    ],
)
def test_handlers_see_the_request(node: NodeProcess, request_: dict[str, Any], seen: dict[str, Any]) -> None:
    answer = call(node, "PUT", "/echo/7", **request_)
    assert answer.status_code == 200, answer.text
    got = answer.json()
    assert (got["method"], got["path"], got["params"]) == ("PUT", "/echo/7", {"id": "7"})
    assert {name: got[name] for name in seen} == seen | ({"raw": got["raw"]} if "raw" in seen else {})


def test_requests_that_no_route_takes(node: NodeProcess) -> None:
    assert call(node, "GET", "/none").status_code == 404
    wrong = call(node, "DELETE", "/price")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "OPTIONS, POST")
    bad = call(node, "POST", "/price", content="{", headers={"Content-Type": "application/json"})
    assert (bad.status_code, bad.json()["code"]) == (422, "invalid_payload")
    large = call(node, "POST", "/price", json="x" * 1_100_000)
    assert large.status_code == 413
    url = f"{node.credentials['url']}/fn/unknown-app/price"
    assert httpx.post(url, json={}).status_code == 404
