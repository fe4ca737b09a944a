"""The API behind the real server, over loopback sockets."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
import trio
from http_api import Api

from picloud.actors.runtime.events import EventStream
from picloud.actors.server import Server, bind
from picloud.http.app import create_app
from picloud.types import App

MESSAGES = "/api/v1/apps/shop/queues/orders/messages"


class Site:
    """The running server, a client of it, and the tree's events."""

    def __init__(
        self, server: Server, client: httpx.AsyncClient, stream: EventStream, address: tuple[str, int]
    ) -> None:
        self.server = server
        self.client = client
        self.stream = stream
        self.address = address
        self.stopped = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self.server.run(task_status=task_status)
        self.stopped.set()


@asynccontextmanager
async def served(api: Api) -> AsyncIterator[Site]:
    stream, sock = EventStream(), bind("127.0.0.1", 0)
    host, port = address = sock.getsockname()
    server = Server(create_app(replace(api.node, events=stream.subscribe)), [sock], graceful=30.0)
    headers = {"Authorization": f"Bearer {api.token}"}
    async with (
        httpx.AsyncClient(base_url=f"http://{host}:{port}", headers=headers) as client,
        trio.open_nursery() as nursery,
    ):
        site = Site(server, client, stream, address)
        await nursery.start(site.run)
        try:
            yield site
        finally:
            server.stop()
            nursery.cancel_scope.cancel()


async def wait_for_connections(site: Site, count: int) -> None:
    with trio.fail_after(5):
        while site.server.details()["connections"] != count:
            await trio.sleep(0.02)


async def test_messages_are_sent_and_read_over_one_connection(api: Api, shop: App) -> None:
    async with served(api) as site:
        for at in range(20):
            sent = await site.client.post(MESSAGES, json={"payload": at})
            assert (sent.status_code, sent.headers["content-type"]) == (201, "application/json")
        listed = await site.client.get(MESSAGES)
        assert [message["payload"] for message in listed.json()["items"]] == list(range(20))
        assert site.server.details()["accepted"] == 1
        head = await site.client.head("/healthz")
        assert (head.status_code, head.content) == (200, b"")
        assert "server" not in head.headers


async def open_events(site: Site, token: str) -> trio.SocketStream:
    stream = await trio.open_tcp_stream(*site.address)
    await stream.send_all(
        b"GET /api/v1/supervisor/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n" % token.encode()
    )
    return stream


async def read_until(stream: trio.SocketStream, wanted: bytes) -> None:
    data = b""
    with trio.fail_after(5):
        while wanted not in data:
            more = await stream.receive_some(65536)
            assert more, f"the stream ended without {wanted!r}: {data!r}"
            data += more


async def test_event_stream_ends_at_stop_and_a_gone_client_frees_its_connection(api: Api) -> None:
    async with served(api) as site:
        async with await open_events(site, api.token) as stream:
            await read_until(stream, b": connected")
            site.stream.emit("started", "/picloud/a")
            await read_until(stream, b"id: 1\nevent: started\n")
        await wait_for_connections(site, 0)

        async with await open_events(site, api.token) as stream:
            await read_until(stream, b": connected")
            site.server.stop()
            # the last chunk: an orderly end
            await read_until(stream, b"0\r\n\r\n")
        with trio.fail_after(5):
            await site.stopped.wait()


async def test_head_of_a_stream_without_an_end_is_answered(api: Api) -> None:
    async with served(api) as site:
        with trio.fail_after(5):
            head = await site.client.head("/api/v1/supervisor/events")
        assert (head.status_code, head.headers["content-type"]) == (200, "text/event-stream")


async def test_what_is_no_http_ends_its_connection_and_is_no_fault_of_ours(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    websocket = b"GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    key = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    http2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
    odd_path = b"\0\0\x0d\1\5\0\0\0\1\x83\x86\x04\x05/\xff\xfe\x00x\x01\x01x"
    async with served(api) as site:
        # a websocket that is none, one that nobody takes, and then garbage; a path that is not ASCII
        for sent in (websocket + b"\r\nabc", websocket + key, websocket + key + b"\xff" * 50, http2 + odd_path):
            async with await trio.open_tcp_stream(*site.address) as stream:
                await stream.send_all(sent)
                with trio.move_on_after(0.2), contextlib.suppress(trio.BrokenResourceError):
                    while await stream.receive_some(65536):
                        pass
        await wait_for_connections(site, 0)
    assert "Traceback" not in capsys.readouterr().out


async def test_upload_over_the_limit_is_refused_while_it_arrives(api: Api, shop: App) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"payload": "'
        for _ in range(1024):
            yield b"x" * 65536

    async with served(api) as site:
        with trio.fail_after(20):
            chunked = await site.client.post(MESSAGES, content=endless(), headers={"Content-Type": "application/json"})
            assert (chunked.status_code, chunked.json()["code"]) == (413, "body_too_large")
            announced = await site.client.post(MESSAGES, content=b" " * (17 * 1024 * 1024))
            assert (announced.status_code, announced.json()["code"]) == (413, "body_too_large")
            unknown = await site.client.post("/api/v1/apps", content=b" " * 5_000_000, headers={"Authorization": "x"})
            assert unknown.status_code == 401
        assert (await site.client.get(MESSAGES)).json()["items"] == []


async def test_request_line_without_a_path_is_answered(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    async with served(api) as site:
        for target in (b"?x", b"*", b"http://[::1/x", b"x:1", b"/%00", b"/%ff%fe", b"//healthz"):
            stream = await trio.open_tcp_stream(*site.address)
            async with stream:
                await stream.send_all(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % target)
                status = (await stream.receive_some(65536))[9:12]
            assert status in {b"404", b"200"}, target
        async with await trio.open_tcp_stream(*site.address) as stream:
            # as clients of a proxy write it
            await stream.send_all(b"GET HTTP://elsewhere/healthz?x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            await read_until(stream, b"HTTP/1.1 200")
    assert "Traceback" not in capsys.readouterr().out


async def test_statement_of_a_client_that_left_is_cancelled(api: Api, shop: App) -> None:
    async with served(api) as site, api.node.pool.transaction() as conn:
        await conn.execute("lock table apps in access exclusive mode")
        with trio.move_on_after(0.3):
            await site.client.get("/api/v1/apps")
        await wait_for_connections(site, 0)
        waiting = await (
            await conn.execute("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
        ).fetchone()
        assert waiting == (0,)
