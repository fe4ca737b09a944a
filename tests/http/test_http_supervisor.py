"""The tree, its events, and health."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import trio
from http_api import Api, Surroundings

from picloud.actors.runtime.events import EventStream
from picloud.errors import DatabaseUnavailable
from picloud.http.app import create_app
from picloud.http.node import Node
from picloud.http.supervisor import EventBody

TREE = "/api/v1/supervisor"


async def test_tree_is_shown_from_a_path_to_a_depth(api: Api) -> None:
    assert (await api.get(TREE)).body == {"id": "picloud", "path": "/picloud", "depth": None}
    part = await api.get(f"{TREE}?path=/picloud/consumers/shop/orders&depth=0")
    assert part.body == {"id": "picloud", "path": "/picloud/consumers/shop/orders", "depth": 0}
    assert (await api.get(f"{TREE}?path=/picloud/nobody")).code == "actor_not_found"
    for query in ("depth=-1", "depth=x", "path=%00", "deep=1"):
        assert (await api.get(f"{TREE}?{query}")).code == "invalid_fields"


async def test_actor_is_restarted_by_its_path(api: Api, around: Surroundings) -> None:
    done = await api.post(f"{TREE}/actors/picloud/consumers/shop/orders/restart")
    assert (done.status, done.body) == (200, {"path": "/picloud/consumers/shop/orders"})
    assert around.restarted == ["/picloud/consumers/shop/orders"]
    assert (await api.post(f"{TREE}/actors/picloud/nobody/restart")).code == "actor_not_found"
    assert (await api.get(f"{TREE}/actors/picloud/restart")).code == "method_not_allowed"


async def test_events_are_streamed_and_resumed(node: Node, api: Api) -> None:
    stream = EventStream()
    stream.emit("started", "/picloud/first")
    app = create_app(replace(node, events=stream.subscribe))
    headers = {"Authorization": f"Bearer {api.token}", "Last-Event-ID": "0"}
    stopping = trio.Event()
    client, scope = app.test_client(), {"state": {"stopping": stopping}}
    async with client.request(f"{TREE}/events", headers=headers, scope_base=scope) as connection:
        await connection.send_complete()
        assert await connection.receive() == b": connected\n\n"
        assert connection.headers is not None
        assert connection.headers["Content-Type"] == "text/event-stream"
        assert (await connection.receive()).startswith(b"id: 1\nevent: started\ndata: {")
        stream.emit("exited", "/picloud/second", reason="error", message="a\nb\0\u2028")
        event = await connection.receive()
        assert event.startswith(b"id: 2\nevent: exited\ndata: {")
        assert event.count(b"\n") == 4
        stopping.set()


async def test_bad_last_event_id_is_refused(api: Api) -> None:
    for text in ("x", "-1", "1.5", "9" * 30, "²"):
        refused = await api.call("GET", f"{TREE}/events", headers={"Last-Event-ID": text})
        assert (refused.status, refused.code) == (422, "invalid_fields")


async def test_quiet_stream_has_heartbeats_and_loses_nothing(autojump_clock: Any) -> None:
    stream = EventStream()
    body = EventBody(stream.subscribe(), trio.Event())
    assert await anext(body) == b": connected\n\n"
    started = trio.current_time()
    assert await anext(body) == b": heartbeat\n\n"
    assert trio.current_time() - started == 15
    stream.emit("started", "/picloud/a")
    assert (await anext(body)).startswith(b"id: 1\n")


async def test_stream_ends_when_the_server_stops(autojump_clock: Any) -> None:
    stopping = trio.Event()
    body = EventBody(EventStream().subscribe(), stopping)
    await anext(body)

    async def stop() -> None:
        await trio.sleep(3)
        stopping.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stop)
        with pytest.raises(StopAsyncIteration):
            await anext(body)
    assert trio.current_time() < 10


async def test_health_needs_no_token_and_no_database(api: Api) -> None:
    await api.node.pool.aclose()
    response = await api.client.get("/healthz")
    assert (response.status_code, await response.get_json()) == (200, {"status": "ok"})


async def test_readiness_gives_its_reasons(api: Api, around: Surroundings) -> None:
    response = await api.client.get("/readyz")
    assert (response.status_code, await response.get_json()) == (200, {"ready": True, "reasons": []})
    around.reasons.append("the database is away")
    response = await api.client.get("/readyz")
    assert response.status_code == 503
    assert await response.get_json() == {"ready": False, "reasons": ["the database is away"]}


async def test_readiness_that_fails_is_not_ready(node: Node) -> None:
    async def fail() -> list[str]:
        raise DatabaseUnavailable("gone")

    response = await create_app(replace(node, readiness=fail)).test_client().get("/readyz")
    assert (response.status_code, (await response.get_json())["reasons"]) == (503, ["gone"])


async def test_version_is_told(api: Api) -> None:
    assert (await api.get("/api/v1")).body["name"] == "picloud"
