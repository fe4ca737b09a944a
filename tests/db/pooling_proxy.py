"""A transaction-pooling proxy: each transaction of a client runs in whichever session was idle for longest.

Small, but as strict as the real ones: nothing of a session stays with a client, and a client's key is not a session's.
"""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import psycopg
import trio
from psycopg.conninfo import conninfo_to_dict, make_conninfo

STARTUP, CANCEL, SSL, GSS = 196608, 80877102, 80877103, 80877104
TOLD_AT_START = (
    "server_version",
    "server_encoding",
    "client_encoding",
    "DateStyle",
    "integer_datetimes",
    "standard_conforming_strings",
    "TimeZone",
)


def frame(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


class Frames:
    """Messages of the protocol, read from a stream."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._unread = b""

    async def read(self, count: int) -> bytes:
        while len(self._unread) < count:
            more = await self._stream.receive_some(65536)
            if not more:
                raise EOFError
            self._unread += more
        taken, self._unread = self._unread[:count], self._unread[count:]
        return taken

    async def next(self) -> tuple[bytes, bytes]:
        """Return a message's kind, and all of it."""
        head = await self.read(5)
        return head[:1], head + await self.read(struct.unpack("!i", head[1:])[0] - 4)


@dataclass(eq=False)
class Session:
    """A connection to the server that clients share; libpq has logged in, and from then on only bytes go over it."""

    conn: psycopg.Connection
    stream: trio.SocketStream
    frames: Frames


@dataclass
class PoolingProxy:
    """Runs in a test's own event loop."""

    dsn: str
    size: int = 3
    address: str = ""
    transactions: int = 0
    sessions: list[Session] = field(default_factory=list)
    _keys: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._returned, self._idle = trio.open_memory_channel[Session](self.size)
        try:
            for _ in range(self.size):
                await self._returned.send(await self._open())
            (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
            port = listener.socket.getsockname()[1]
            self.address = make_conninfo(self.dsn, host="127.0.0.1", hostaddr="", port=str(port), sslmode="disable")
            await trio.serve_listeners(self._serve, [listener], task_status=task_status)
        finally:
            for session in self.sessions:
                session.stream.socket.close()
                session.conn.close()

    async def _open(self) -> Session:
        conn = await trio.to_thread.run_sync(psycopg.connect, self.dsn)
        raw = socket.socket(fileno=socket.dup(conn.fileno()))
        raw.setblocking(False)
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(raw))
        session = Session(conn, stream, Frames(stream))
        self.sessions.append(session)
        return session

    async def _serve(self, client: trio.SocketStream) -> None:
        async with client:
            frames = Frames(client)
            session: Session | None = None
            try:
                if not await self._greet(client, frames):
                    return
                while True:
                    kind, message = await frames.next()
                    if kind == b"X":
                        return
                    session = session or await self._idle.receive()
                    await session.stream.send_all(message)
                    if kind in (b"Q", b"S"):
                        session = await self._answer(client, frames, session)
            except (EOFError, trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            finally:
                if session is not None:
                    with trio.CancelScope(shield=True):
                        await self._replace(session)

    async def _greet(self, client: trio.SocketStream, frames: Frames) -> bool:
        """Let the client in under a key that is no session's; False where it only came to cancel."""
        while True:
            length, code = struct.unpack("!ii", await frames.read(8))
            await frames.read(length - 8)
            if code in (SSL, GSS):
                await client.send_all(b"N")
                continue
            if code == CANCEL:
                return False
            assert code == STARTUP
            break
        info = self.sessions[0].conn.info
        said = [(name, info.parameter_status(name) or "") for name in TOLD_AT_START]
        await client.send_all(
            frame(b"R", struct.pack("!i", 0))
            + b"".join(frame(b"S", f"{name}\0{value}\0".encode()) for name, value in said)
            + frame(b"K", struct.pack("!ii", next(self._keys), 1))
            + frame(b"Z", b"I")
        )
        return True

    async def _answer(self, client: trio.SocketStream, frames: Frames, session: Session) -> Session | None:
        """Pass on what the session says; return it while the transaction is open."""
        while True:
            kind, message = await session.frames.next()
            if kind == b"A":
                continue  # notifications belong to nobody
            is_over = kind == b"Z" and message[-1:] == b"I"
            if is_over:
                self.transactions += 1
                await self._returned.send(session)
            await client.send_all(message)
            if kind == b"Z":
                return None if is_over else session
            if kind == b"G":
                await self._copy_in(frames, session)

    async def _copy_in(self, frames: Frames, session: Session) -> None:
        while True:
            kind, message = await frames.next()
            await session.stream.send_all(message)
            if kind in (b"c", b"f"):
                return

    async def _replace(self, session: Session) -> None:
        """A client left in the middle: the session is of no use to anybody."""
        self.sessions.remove(session)
        session.stream.socket.close()
        session.conn.close()
        await self._returned.send(await self._open())


@asynccontextmanager
async def pooling_proxy(dsn: str, size: int = 3) -> AsyncIterator[PoolingProxy]:
    """Run a proxy in front of the database of `dsn`."""
    assert conninfo_to_dict(dsn)
    proxy = PoolingProxy(dsn, size)
    async with trio.open_nursery() as nursery:
        await nursery.start(proxy.run)
        yield proxy
        nursery.cancel_scope.cancel()
