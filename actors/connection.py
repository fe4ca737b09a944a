"""One client connection of the HTTP server: hypercorn's protocol, on a stream that can always be ended.

Hypercorn's own Trio connection shields each send, so that a client that stopped reading holds up every shutdown, and it
may miss the start of the idle time when the app ends first. Here sends have a deadline and can be cancelled, and what
ends a connection (idle time, slow headers, lingering) is one deadline on the reading side, moved without a checkpoint.

Imports hypercorn: import this only where a server runs.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from dataclasses import dataclass
from math import inf

import h11
import trio
from h2.exceptions import H2Error
from hpack import HPACKError
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol import ProtocolWrapper
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr
from hyperframe.exceptions import HyperframeError
from wsproto.utilities import ProtocolError as WebSocketError

MAX_RECEIVE_BYTES = 65_536
LINGER_SECS = 1.0
"""How long to read on after the last answer: closing at once would reset the connection before the answer is read."""
PROTOCOL_ERRORS = (h11.ProtocolError, H2Error, HPACKError, HyperframeError, WebSocketError, UnicodeError)
"""What bytes of a client that are no HTTP, HTTP/2 or WebSocket lead to in the libraries that read them."""
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Limits:
    """How patient a connection is, in seconds."""

    send_timeout: float
    """One piece of a response to a client that does not read."""
    header_timeout: float
    """From connecting, or from the first byte of a later request, to the end of its headers."""
    keep_alive: float
    """Between two requests."""


class Connection:
    """Serve one client until it leaves, is too slow, or the server stops.

    The app finds `stopping` in its scope's state: what streams without an end has to end then. In `waiting` it may put
    cancel scopes, to be cancelled when the client leaves: a task of its own for that costs more than most requests.
    """

    def __init__(
        self,
        stream: trio.SocketStream,
        app: ASGIWrapper,
        config: Config,
        context: WorkerContext,
        limits: Limits,
        stopping: trio.Event,
    ) -> None:
        self._stream = stream
        self._app = app
        self._config = config
        self._context = context
        self._limits = limits
        self._stopping = stopping
        self._waiting: set[trio.CancelScope] = set()
        self._scope = trio.CancelScope()
        self._reading = trio.CancelScope()
        self._send_lock = trio.Lock()
        self._is_idle = True
        self._has_partial_head = True
        self._expects_head = False
        self._head = b""
        self._is_finished = False
        self._is_broken = False

    async def run(self) -> None:
        """Serve the client."""
        raw = self._stream.socket
        try:
            self._tune(raw)
            client = parse_socket_addr(raw.family, raw.getpeername())
            server = parse_socket_addr(raw.family, raw.getsockname())
            with self._scope:
                async with TaskGroup() as tasks:
                    self._protocol = ProtocolWrapper(
                        self._app,
                        self._config,
                        self._context,
                        tasks,
                        ConnectionState({"stopping": self._stopping, "waiting": self._waiting}),
                        False,
                        client,
                        server,
                        self._handle_protocol_event,
                    )
                    await self._protocol.initiate()
                    await self._read()
        except OSError:
            pass  # the client left before it was served
        finally:
            raw.close()

    def close_if_idle(self) -> None:
        """End the connection if no request is in flight."""
        if self._is_idle:
            self._reading.deadline = -inf

    def _tune(self, raw: trio.socket.SocketType) -> None:
        # a client that vanished without a word is found by the kernel
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            timeout_ms = min(int(self._limits.send_timeout * 1000), 2**31 - 1)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, max(timeout_ms, 1))

    async def _read(self) -> None:
        if self._reading.deadline == inf:
            self._reading.deadline = trio.current_time() + self._limits.header_timeout
        with self._reading:
            while data := await self._receive():
                if self._is_finished:
                    continue
                try:
                    await self._protocol.handle(RawData(data))
                except PROTOCOL_ERRORS:
                    # hypercorn leaves some of what clients get wrong to whoever calls it
                    self._finish()
                    continue
                if self._is_idle and not self._has_partial_head and self._holds_unread_bytes():
                    self._has_partial_head = True
                    self._reading.deadline = trio.current_time() + self._limits.header_timeout
            for waiting in self._waiting:
                waiting.cancel()
            if not self._is_finished:
                await self._protocol.handle(RawData(b""))
        await self._protocol.handle(Closed())

    def _holds_unread_bytes(self) -> bool:
        """Tell whether HTTP/1 has the beginning of a request that has not come to its end."""
        connection = getattr(self._protocol.protocol, "connection", None)
        unread, _ = getattr(connection, "trailing_data", (b"", False))
        return bool(unread)

    async def _receive(self) -> bytes:
        try:
            return bytes(await self._stream.receive_some(MAX_RECEIVE_BYTES))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    async def _handle_protocol_event(self, event: Event) -> None:
        if isinstance(event, RawData):
            await self._send(event.data)
        elif isinstance(event, Updated):
            self._note_idle(event.idle)
        elif isinstance(event, Closed):
            self._finish()

    async def _send(self, data: bytes) -> None:
        """Send in bounded time; what stops a send halfway ends the connection: nothing can follow half an answer."""
        if self._expects_head and _is_final_head(data):
            # ASGI lets a server wait for the first piece of the body: one packet instead of two
            self._expects_head, self._head = False, data
            return
        data, self._head = self._head + data, b""
        if not data:
            return
        async with self._send_lock:
            if self._is_broken:
                return
            is_sent = False
            try:
                with trio.move_on_after(self._limits.send_timeout):
                    await self._stream.send_all(data)
                    is_sent = True
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            finally:
                if not is_sent:
                    self._break()

    def _note_idle(self, is_idle: bool) -> None:
        self._is_idle = is_idle
        self._expects_head = not is_idle
        self._has_partial_head = False
        self._reading.deadline = trio.current_time() + self._limits.keep_alive if is_idle else inf

    def _finish(self) -> None:
        """Nothing more will be sent: wait a moment for the client to have read it."""
        self._is_finished = True
        self._reading.deadline = trio.current_time() + LINGER_SECS
        with contextlib.suppress(OSError):
            self._stream.socket.shutdown(socket.SHUT_WR)

    def _break(self) -> None:
        """Drop the connection and all that works for it, and what the kernel still holds for the client."""
        self._is_broken = True
        with contextlib.suppress(OSError):
            self._stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self._stream.socket.close()
        self._scope.cancel()


def _is_final_head(data: bytes) -> bool:
    """Tell whether this is the head of an HTTP/1 response after which a body or an end follows: not 100 or 101."""
    return data.startswith(b"HTTP/1.") and data[9:10] != b"1"
