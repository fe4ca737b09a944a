"""Requests for routes as they come over a socket: paths, bodies, headers, methods, answers, and clients that leave."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import trio
from http_api import Api
from route_site import ECHO, RouteSite, open_route_site

RESPONSES = """
def handle(event, ctx):
    kind = event.params["kind"]
    if kind == "no-content":
        return Response({"a": 1}, status=204, headers={"Content-Type": "text/plain"})
    if kind == "not-modified":
        return Response("x" * 10, status=304, headers={"ETag": '"a"'})
    if kind == "cookies":
        return Response("set", headers={"Set-Cookie": ["a=1; HttpOnly", "b=2"]})
    if kind == "split":
        return Response("x", headers={"X-A": "1\\r\\nX-B: 2"})
    if kind == "smuggled":
        response = Response(b"x")
        response.headers["X-A"] = "1\\r\\nX-B: 2"
        return response
    if kind == "informational":
        return Response("x", status=103)
    if kind == "hop":
        return Response("x", headers={"Transfer-Encoding": "chunked", "Content-Length": "99", "Connection": "close",
                                      "Date": "never", "X-Request-Id": "forged", "X-Execution-Id": "forged",
                                      "X-Mine": " kept "})
    if kind == "bytes":
        return Response(b"\\x00\\xff")
    return [10 ** 30, "é", 1.5, None]
"""
ROUTES = [
    {"script": "echo", "method": "POST", "path": "/"},
    {"script": "echo", "method": "POST", "path": "/orders/:id"},
    {"script": "echo", "method": "GET", "path": "/orders/:id"},
    {"script": "echo", "method": "POST", "path": "/files/*rest"},
    {"script": "responses", "method": "GET", "path": "/responses/:kind"},
    {"script": "slow", "method": "POST", "path": "/slow"},
]
SLOW = """
import time

def handle(event, ctx):
    for n in range(3):
        queue.enqueue("effects", n)
    kv.increment("calls", 1)
    time.sleep(event.body["secs"])
    return "done"
"""


@pytest.fixture
async def site(api: Api, database: str) -> AsyncIterator[RouteSite]:
    async with open_route_site(api, database, threads=2, gate_wait=0.3) as opened:
        await opened.deploy({"echo": ECHO, "responses": RESPONSES, "slow": SLOW}, *ROUTES)
        yield opened


async def test_paths_are_split_before_they_are_decoded(site: RouteSite) -> None:
    found = {
        "": ("/", {}),
        "/": ("/", {}),
        "/orders/17": ("/orders/17", {"id": "17"}),
        "/orders/a%2Fb": ("/orders/a/b", {"id": "a/b"}),
        "/orders/a%20b%C3%A9": ("/orders/a bé", {"id": "a bé"}),
        "/%6Frders/%2e%2e.": ("/orders/...", {"id": "..."}),
        "/files/a//b/": ("/files/a//b/", {"rest": "a//b/"}),
        "/files/": ("/files/", {"rest": ""}),
    }
    for path, (seen, params) in found.items():
        raw = await site.exchange(b"POST /fn/shop%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path.encode())
        head, _, body = raw.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), (path, raw)
        assert (json.loads(body)["path"], json.loads(body)["params"]) == (seen, params), path
    for path in (
        "/orders",
        "/orders/",
        "/orders/1/",
        "//orders/1",
        "/orders/..",
        "/files/a/%2e%2E/b",
        "/orders/%00",
        "/orders/%ff",
    ):
        raw = await site.exchange(b"POST /fn/shop%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path.encode())
        assert raw.startswith(b"HTTP/1.1 404"), (path, raw)
        assert b"route_not_found" in raw


async def test_methods(site: RouteSite) -> None:
    head = await site.call("HEAD", "/orders/1")
    assert (head.status_code, head.content, int(head.headers["content-length"]) > 100) == (200, b"", True)
    wrong = await site.call("DELETE", "/orders/1")
    assert (wrong.status_code, wrong.headers["allow"], wrong.json()["code"]) == (
        405,
        "GET, HEAD, OPTIONS, POST",
        "method_not_allowed",
    )
    assert (await site.call("HEAD", "/slow")).headers["allow"] == "OPTIONS, POST"
    asked = await site.call("OPTIONS", "/orders/1")
    assert (asked.status_code, asked.headers["allow"], asked.content) == (204, "GET, HEAD, OPTIONS, POST", b"")
    assert (await site.call("OPTIONS", "/none")).status_code == 404
    assert (await site.call("BREW", "/orders/1")).status_code == 405


async def test_request_id_is_taken_where_it_is_one_and_returned_always(site: RouteSite) -> None:
    given = await site.call("POST", "/", headers={"X-Request-Id": "mine/1"})
    assert (given.headers["x-request-id"], given.json()["request_id"]) == ("mine/1", "mine/1")
    for strange in ("", "a b", "x" * 129, "é".encode()):
        made = await site.call("POST", "/", headers={b"X-Request-Id": strange})  # type: ignore[dict-item]
        assert len(made.headers["x-request-id"]) == 36
        assert made.json()["request_id"] == made.headers["x-request-id"]
    for path, status in (("/none", 404), ("/responses/split", 500)):
        refused = await site.call("GET", path, headers={"X-Request-Id": "mine"})
        assert (refused.status_code, refused.headers["x-request-id"]) == (status, "mine")


async def test_repeated_parameters_headers_and_fields_are_all_there(site: RouteSite) -> None:
    content = b"tag=a&tag=b&one=1&empty="
    headers = [("Content-Type", "application/x-www-form-urlencoded"), ("X-A", "1"), ("X-A", "2"), ("Cookie", "c=1")]
    got = (await site.call("POST", "/?q=1&q=2&r=%C3%A9&s", content=content, headers=headers)).json()
    assert got["query"] == {"q": "1", "r": "é", "s": ""}
    assert got["query_all"] == {"q": ["1", "2"], "r": ["é"], "s": [""]}
    assert got["body"] == {"tag": ["a", "b"], "one": "1", "empty": ""}
    assert (got["headers"]["x-a"], got["headers"]["cookie"]) == ("1, 2", "c=1")
    many = await site.call("POST", "/?" + "&".join(f"a{n}=1" for n in range(1100)))
    assert (many.status_code, many.json()["code"]) == (422, "invalid_input")


async def test_multipart_form_of_a_browser(site: RouteSite) -> None:
    files = {"file": ("a.bin", b"\x00\xff", "image/png")}
    got = (await site.call("POST", "/", data={"name": "Zoë", "tag": ["a", "b"]}, files=files)).json()["body"]
    assert (got["name"], got["tag"]) == ("Zoë", ["a", "b"])
    file = {
        "filename": "a.bin",
        "content_type": "image/png",
        "size": 2,
        "base64": base64.b64encode(b"\x00\xff").decode(),
    }
    assert got["file"] == file


BODIES: list[tuple[str, bytes, Any]] = [
    ("application/json", b' {"a": 1} ', {"a": 1}),
    ("application/json; charset=utf-8", '"é"'.encode(), "é"),
    ("application/json; charset=iso-8859-1", '"é"'.encode("latin-1"), "é"),
    ("application/vnd.api+json", b"[1]", [1]),
    ("application/json", b"", None),
    ("text/plain; charset=ISO-8859-1", b"\xe9", "é"),
    ("text/plain", b"\xe9", "�"),
    ("text/plain; charset=utf-16", "é".encode("utf-16"), "é"),
    ("image/png", b"\xe9", None),
    ("application/json", b"{", 422),
    ("application/json", b'"\xe9"', 422),
    ("application/json", b'{"a": NaN}', 422),
    ("application/json", b'"\\u0000"', 422),
    ("application/json", b"[" * 100_000, 422),
    ("text/plain; charset=utf-8", b"\xe9", 422),
    ("text/plain; charset=unicode_escape", b"x", 415),
    ("text/plain; charset=idna", b"x", 415),
    ("multipart/form-data", b"x", 422),
    ("multipart/form-data; boundary=x", b"y", 422),
    (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\r\n--x--',
        422,
    ),
    ("application/x-www-form-urlencoded", b"a=%00", 422),
]
"""Media type, body, and what the handler sees of it or the status that refuses it."""


async def test_bodies(site: RouteSite) -> None:
    for content_type, content, body in BODIES:
        answer = await site.call("POST", "/", content=content, headers={"Content-Type": content_type})
        if isinstance(body, int):
            assert answer.status_code == body, (content_type, content, answer.text)
            assert answer.json()["code"] in {"invalid_payload", "unsupported_media_type"}
        else:
            seen = answer.json()
            assert (answer.status_code, seen["body"], seen["raw"]) == (200, body, len(content)), (content_type, content)


async def test_compressed_body_is_refused_with_advice(site: RouteSite) -> None:
    answer = await site.call("POST", "/", content=b"x", headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, "send it as it is" in answer.json()["detail"]) == (415, True)


async def test_sizes_are_known_before_the_body_is_read(site: RouteSite) -> None:
    start = b"POST /fn/shop/ HTTP/1.1\r\nHost: x\r\n"
    announced = await site.exchange(start + b"Content-Length: 99999999\r\n\r\n")
    assert announced.startswith(b"HTTP/1.1 413")
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    chunked = await site.exchange(start + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 17)
    assert chunked.startswith(b"HTTP/1.1 413")
    # a path without a route reads nothing
    unknown = await site.exchange(b"POST /fn/shop/none HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
    assert unknown.startswith(b"HTTP/1.1 404")


async def test_chunked_bodies_and_clients_that_wait_for_a_100(site: RouteSite) -> None:
    head = b"POST /fn/shop/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    chunked = await site.exchange(
        head + b"Transfer-Encoding: chunked\r\n\r\n", b"2\r\nab\r\n", b"1\r\nc\r\n0\r\n\r\n", pause=0.02
    )
    assert json.loads(chunked.partition(b"\r\n\r\n")[2])["body"] == "abc"
    waited = await site.exchange(head + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", b"ab", pause=0.05)
    informed, _, rest = waited.partition(b"\r\n\r\n")
    assert informed.startswith(b"HTTP/1.1 100")
    assert json.loads(rest.partition(b"\r\n\r\n")[2])["body"] == "ab"


async def test_answers_are_what_http_allows(site: RouteSite) -> None:
    for kind, status in (("no-content", 204), ("not-modified", 304)):
        raw = await site.exchange(
            b"GET /fn/shop/responses/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % kind.encode()
        )
        head, _, body = raw.partition(b"\r\n\r\n")
        assert (head[9:12], body) == (str(status).encode(), b"")
        assert b"content-length" not in head
    cookies = await site.call("GET", "/responses/cookies")
    assert cookies.headers.get_list("set-cookie") == ["a=1; HttpOnly", "b=2"]
    for kind in ("split", "smuggled", "informational"):
        refused = await site.call("GET", f"/responses/{kind}")
        assert (refused.status_code, "x-b" in refused.headers) == (500, False)
        assert site.outcomes[-1].error is not None
        assert "Response: " in site.outcomes[-1].error.message
    hop = await site.call("GET", "/responses/hop")
    assert (hop.content, hop.headers["content-length"], hop.headers["x-mine"]) == (b"x", "1", "kept")
    assert "transfer-encoding" not in hop.headers
    assert len(hop.headers.get_list("date")) == 1
    assert hop.headers["x-request-id"] != "forged"
    assert UUID(hop.headers["x-execution-id"]).version == 7
    binary = await site.call("GET", "/responses/bytes")
    assert (binary.content, binary.headers["content-type"]) == (b"\x00\xff", "application/octet-stream")
    assert (await site.call("GET", "/responses/json")).json() == [10**30, "é", 1.5, None]


async def test_a_full_gate_is_told_and_when_to_come_back(site: RouteSite) -> None:
    async with trio.open_nursery() as nursery:
        answers = []

        async def call() -> None:
            answers.append(await site.call("POST", "/slow", json={"secs": 0.6}))

        for _ in range(3):
            nursery.start_soon(call)
    assert sorted(answer.status_code for answer in answers) == [200, 200, 503]
    (refused,) = [answer for answer in answers if answer.status_code == 503]
    assert (refused.json()["code"], refused.headers["retry-after"]) == ("gate_full", "2")
    assert await site.count_messages("effects") == 6


async def test_a_client_hears_that_its_execution_was_cancelled_and_nothing_of_it_is_left(site: RouteSite) -> None:
    answers = []
    executions = "/api/v1/apps/shop/executions"

    async def call() -> None:
        answers.append(await site.call("POST", "/slow", json={"secs": 60}, headers={"X-Request-Id": "mine"}))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call)
        with trio.fail_after(20):
            while not (running := (await site.api.get(f"{executions}/running")).body["items"]):
                await trio.sleep(0.01)
        execution = running[0]["id"]
        assert (await site.api.post(f"{executions}/{execution}/cancel")).status == 202
    (answer,) = answers
    assert (answer.status_code, answer.json()["code"]) == (500, "execution_cancelled")
    assert (answer.headers["x-execution-id"], answer.headers["x-request-id"]) == (execution, "mine")
    assert execution in answer.json()["detail"]
    assert ([outcome.status for outcome in site.outcomes], await site.count_messages("effects")) == (["cancelled"], 0)
    # the thread is free again, and what is sent goes on under the request's id
    assert (await site.call("POST", "/slow", json={"secs": 0}, headers={"X-Request-Id": "next"})).text == "done"
    async with site.api.node.pool.connection() as conn:
        rows = await (await conn.execute("select distinct request_id from queue_messages")).fetchall()
    assert rows == [("next",)]


async def test_a_client_that_leaves_takes_all_effects_of_its_call_with_it_or_none(site: RouteSite) -> None:
    """Leave at random moments; count what was committed."""
    rng = random.Random(5)
    body = b'{"secs": 0.01}'
    request = (
        b"POST /fn/shop/slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    )
    answered = 0

    async def leave_early() -> None:
        nonlocal answered
        stream = await trio.open_tcp_stream(*site.address)
        with trio.move_on_after(rng.uniform(0.0, 0.04)):
            await stream.send_all(request % (len(body), body))
            answered += (await stream.receive_some(1000)).startswith(b"HTTP/1.1 200")
        await stream.aclose()

    for _ in range(60):
        await leave_early()
    with trio.fail_after(10):
        while site.server.details()["connections"]:
            await trio.sleep(0.01)
    async with site.api.node.pool.connection() as conn:
        rows = await (await conn.execute("select value::text from kv where key = 'calls'")).fetchone()
    calls = 0 if rows is None else int(rows[0])
    assert await site.count_messages("effects") == 3 * calls
    assert answered <= calls <= 60
    assert 0 < answered < 60, "the moments are badly chosen: all or none were answered"


async def test_a_refusal_before_the_body_has_arrived_leaves_the_connection_usable_or_says_that_it_ends(
    site: RouteSite,
) -> None:
    for path, status in ((b"/fn/shop/none", b"404"), (b"/fn/shop/orders/1", b"405"), (b"/api/v1/apps", b"401")):
        head = b"DELETE %s HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n" % path
        async with await trio.open_tcp_stream(*site.address) as stream:
            for _ in range(2):
                await stream.send_all(head)
                await trio.sleep(0.05)
                await stream.send_all(b"abc")
                with trio.fail_after(5):
                    answer = await stream.receive_some(65_536)
                assert answer[9:12] == status, answer
                assert b"connection: close" not in answer.lower()
        cut = await site.exchange(head + b"a")
        assert cut[9:12] == status
        assert b"connection: close" in cut.lower()
