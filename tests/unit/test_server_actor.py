"""The HTTP server over real loopback sockets: it serves, and it always stops."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import trio

from picloud.actors.server import Server, bind

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

HUGE = 64 * 1024 * 1024
REQUEST = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


class App:
    """An ASGI app whose paths do what the tests need."""

    def __init__(self) -> None:
        self.started = trio.Event()
        self.go_on = trio.Event()
        self.cancelled = 0
        self.left = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.started.set()
        try:
            await getattr(self, scope["path"].strip("/"))(scope, receive, send)
        except (trio.Cancelled, BaseExceptionGroup):
            self.cancelled += 1
            raise

    async def hello(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"hello")

    async def wait(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.watch_client, receive)
            await self.go_on.wait()
            nursery.cancel_scope.cancel()
        await answer(send, b"waited")

    async def watch_client(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left += 1

    async def in_pieces(self, scope: Scope, receive: Receive, send: Send) -> None:
        # pieces that look like the head of an answer, and are not wrapped into chunks
        pieces = [b"HTTP/1.1 200 first", b"HTTP/1.1 200 second"]
        size = str(len(b"".join(pieces) + b"last")).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", size)]})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await self.go_on.wait()
        await send({"type": "http.response.body", "body": b"last"})

    async def huge(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"x" * HUGE)

    async def endless(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})

    async def fail(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("the app has a fault")

    async def refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"too much", status=413)

    async def until_stopping(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["state"]["stopping"].wait()
        await answer(send, b"stopping")


async def answer(send: Send, body: bytes, status: int = 200) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Running:
    """A server that runs in the background of a test."""

    def __init__(self, server: Server, app: App, nursery: trio.Nursery) -> None:
        self.server = server
        self.app = app
        self.nursery = nursery
        self.address: tuple[str, int] = ("", 0)
        self.clients: list[trio.SocketStream] = []
        self.done = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self.server.run(task_status=task_status)
        self.done.set()

    async def connect(self) -> trio.SocketStream:
        stream = await trio.open_tcp_stream(*self.address)
        self.clients.append(stream)
        return stream

    async def wait_until_unconnected(self) -> None:
        with trio.fail_after(5):
            while self.server.details()["connections"]:
                await trio.sleep(0.02)

    async def stop(self, within: float) -> float:
        """Stop the server; return how many seconds it took."""
        began = trio.current_time()
        self.server.stop()
        with trio.fail_after(within):
            await self.done.wait()
        return trio.current_time() - began


@asynccontextmanager
async def serving(**settings: float) -> AsyncIterator[Running]:
    app, sock = App(), bind("127.0.0.1", 0)
    address = sock.getsockname()
    server = Server(app, [sock], **settings)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        running = Running(server, app, nursery)
        running.address = address
        await nursery.start(running.run)
        try:
            yield running
        finally:
            server.stop()
            for client in running.clients:
                client.socket.close()
            nursery.cancel_scope.cancel()


async def read_answer(stream: trio.SocketStream) -> bytes:
    """Return what comes until the body that Content-Length announces is complete, or the end."""
    data = b""
    while True:
        head, found, body = data.partition(b"\r\n\r\n")
        if found:
            sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if sizes and len(body) >= int(sizes[0].partition(b":")[2]):
                return data
        more = await stream.receive_some(65536)
        if not more:
            return data
        data += more


async def is_closed(stream: trio.SocketStream) -> bool:
    try:
        return await stream.receive_some(65536) == b""
    except trio.BrokenResourceError:
        return True


async def test_many_requests_go_over_one_connection() -> None:
    async with serving() as running:
        stream = await running.connect()
        for _ in range(20):
            await stream.send_all(REQUEST % b"/hello")
            assert (await read_answer(stream)).endswith(b"hello")
        details = running.server.details()
        assert (details["connections"], details["accepted"], details["stopping"]) == (1, 1, False)


async def test_pipelined_requests_are_answered_in_turn() -> None:
    async with serving() as running:
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/hello" * 5)
        data = b""
        with trio.fail_after(5):
            while data.count(b"hello") < 5:
                data += await stream.receive_some(65536)


async def test_large_answer_arrives_whole() -> None:
    async with serving() as running, httpx.AsyncClient() as client:
        host, port = running.address
        response = await client.get(f"http://{host}:{port}/huge")
        assert len(response.content) == HUGE


async def test_http2_is_spoken_to_who_asks_for_it() -> None:
    async with serving() as running, httpx.AsyncClient(http1=False, http2=True) as client:
        host, port = running.address
        response = await client.get(f"http://{host}:{port}/hello")
        assert (response.http_version, response.text) == ("HTTP/2", "hello")
        assert await running.stop(within=5) < 2


async def test_client_that_stopped_reading_does_not_hold_up_the_shutdown() -> None:
    async with serving(graceful=0.3, send_timeout=60.0) as running:
        for path in (b"/huge", b"/endless"):
            stream = await running.connect()
            await stream.send_all(REQUEST % path)
            await stream.receive_some(1)
        assert 0.2 < await running.stop(within=5) < 2


async def test_client_that_stopped_reading_is_dropped_after_the_send_timeout() -> None:
    async with serving(send_timeout=0.3) as running:
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/endless")
        await stream.receive_some(1)
        await running.wait_until_unconnected()
        assert running.app.cancelled == 1


async def test_request_in_flight_finishes_at_stop() -> None:
    async with serving(graceful=10.0) as running:
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/wait")
        await running.app.started.wait()
        running.server.stop()
        await trio.testing.wait_all_tasks_blocked(0.05)
        running.app.go_on.set()
        assert (await read_answer(stream)).endswith(b"waited")
        with trio.fail_after(5):
            assert await is_closed(stream)
            await stream.aclose()
            await running.done.wait()


async def test_request_that_takes_too_long_is_cancelled_at_stop() -> None:
    async with serving(graceful=0.2) as running:
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/wait")
        await running.app.started.wait()
        assert await running.stop(within=5) < 2
        assert running.app.cancelled == 1


async def test_stream_without_an_end_is_told_of_the_stop() -> None:
    async with serving(graceful=30.0) as running:
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/until_stopping")
        await running.app.started.wait()
        running.nursery.start_soon(running.stop, 5)
        assert (await read_answer(stream)).endswith(b"stopping")


async def test_idle_connections_are_closed_at_once_at_stop() -> None:
    async with serving(graceful=30.0) as running:
        used, unused = await running.connect(), await running.connect()
        await used.send_all(REQUEST % b"/hello")
        await read_answer(used)
        assert await running.stop(within=5) < 1
        assert await is_closed(used)
        assert await is_closed(unused)


async def test_nothing_is_accepted_after_stop_and_all_again_after_a_restart() -> None:
    async with serving() as running:
        await running.stop(within=5)
        with pytest.raises(OSError, match="all attempts to connect"):
            await running.connect()
        await running.nursery.start(running.run)
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/hello")
        assert (await read_answer(stream)).endswith(b"hello")


async def test_incarnation_after_a_crash_serves_on_the_same_socket() -> None:
    sock = bind("127.0.0.1", 0)
    server = Server(App(), [sock])  # type: ignore[arg-type]
    for _ in range(2):
        async with trio.open_nursery() as nursery:
            await nursery.start(server.run)
            stream = await trio.open_tcp_stream(*sock.getsockname())
            await stream.send_all(REQUEST % b"/hello")
            assert (await read_answer(stream)).endswith(b"hello")
            nursery.cancel_scope.cancel()
        await stream.aclose()
    server.stop()


async def test_slow_headers_and_silence_are_ended() -> None:
    async with serving(header_timeout=0.2, keep_alive=0.2) as running:
        silent, slow, waiting = [await running.connect() for _ in range(3)]
        await waiting.send_all(REQUEST % b"/hello")
        await read_answer(waiting)

        async def dribble() -> None:
            for byte in REQUEST % b"/hello":
                await slow.send_all(bytes([byte]))
                await trio.sleep(0.05)

        with trio.fail_after(5):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(dribble)
                assert await is_closed(slow)
                nursery.cancel_scope.cancel()
            assert await is_closed(silent)
            assert await is_closed(waiting)


async def test_slow_headers_of_a_later_request_are_ended() -> None:
    async with serving(header_timeout=0.2, keep_alive=60.0) as running:
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/hello")
        await read_answer(stream)
        await stream.send_all(b"GET /hel")
        with trio.fail_after(5):
            assert await is_closed(stream)


async def test_pieces_of_an_answer_are_not_held_back() -> None:
    async with serving() as running:
        stream, data = await running.connect(), b""
        await stream.send_all(REQUEST % b"/in_pieces")
        with trio.fail_after(5):
            while b"second" not in data:
                data += await stream.receive_some(65536)
        assert b"last" not in data
        running.app.go_on.set()
        with trio.fail_after(5):
            while b"last" not in data:
                data += await stream.receive_some(65536)


async def test_slow_request_is_not_taken_for_an_idle_connection() -> None:
    async with serving(header_timeout=0.1, keep_alive=0.1) as running:
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/wait")
        await running.app.started.wait()
        await trio.sleep(0.4)
        assert running.app.left == 0
        running.app.go_on.set()
        assert (await read_answer(stream)).endswith(b"waited")


async def test_answer_arrives_though_the_client_is_still_sending() -> None:
    async with serving() as running:
        stream = await running.connect()
        await stream.send_all(b"POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n")
        answered = b""

        async def flood() -> None:
            with trio.move_on_after(0.5):
                while True:
                    await stream.send_all(b"x" * 65536)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(flood)
            await trio.sleep(0.1)
            answered = await read_answer(stream)
        assert answered.startswith(b"HTTP/1.1 413")
        assert answered.endswith(b"too much")


async def test_faults_of_the_app_and_of_clients_leave_the_server_alone(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving() as running:
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/fail")
        assert (await read_answer(stream)).startswith(b"HTTP/1.1 500")
        for garbage in (
            b"\0\xff\r\n\r\n",
            b"GET ?x HTTP/1.1\r\nHost: x\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxx",
        ):
            stream = await running.connect()
            await stream.send_all(garbage)
            await stream.send_eof()
            await is_closed(stream)
        half = await running.connect()
        await half.send_all(REQUEST % b"/wait")
        half.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        await half.aclose()
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/hello")
        assert (await read_answer(stream)).endswith(b"hello")


async def test_client_that_leaves_cancels_its_request() -> None:
    async with serving() as running:
        stream = await running.connect()
        await stream.send_all(REQUEST % b"/endless")
        await stream.receive_some(1)
        await stream.aclose()
        await running.wait_until_unconnected()
