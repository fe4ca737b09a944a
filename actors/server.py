"""The HTTP server actor: it accepts, serves, and always stops in time."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
import trio

from picloud.errors import AddressInUse, ServerError

if TYPE_CHECKING:
    from hypercorn.config import Config
    from hypercorn.typing import ASGIFramework

    from picloud.actors.connection import Connection, Limits

BACKLOG = 1024
MAX_REQUESTS_PER_CONNECTION = 1_000_000

_log = structlog.get_logger("picloud.server")


class Server:
    """Serve an ASGI app on bound sockets.

    Units: seconds. `graceful`: how long requests in flight may go on after `stop`. `send_timeout`: one piece of a
    response to a client that does not read. `header_timeout`: how long a request's headers may take. `keep_alive`: how
    long a connection may wait for its next request.
    """

    def __init__(
        self,
        app: ASGIFramework,
        sockets: Sequence[socket.socket],
        *,
        send_timeout: float = 30.0,
        graceful: float = 20.0,
        header_timeout: float = 15.0,
        keep_alive: float = 75.0,
    ) -> None:
        self._app = app
        self._sockets = list(sockets)
        self._addresses = [sock.getsockname()[:2] for sock in sockets]
        self._timeouts = {"send_timeout": send_timeout, "header_timeout": header_timeout, "keep_alive": keep_alive}
        self._graceful = graceful
        self._connections: set[Connection] = set()
        self._accepted = 0
        self._stopping = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until `stop`; after a `stop` it binds the same addresses again.

        Raises: AddressInUse, ServerError when they cannot be bound again.
        """
        from hypercorn.trio.worker_context import WorkerContext

        self._sockets = self._sockets or [bind(*address) for address in self._addresses]
        context = WorkerContext(None)
        try:
            async with trio.open_nursery() as connections:
                await self._accept(connections, context, task_status)
                # hypercorn then ends each connection after the answer in flight
                await context.terminated.set()
                for connection in self._connections:
                    connection.close_if_idle()
                connections.cancel_scope.deadline = trio.current_time() + self._graceful
        finally:
            if self._stopping.is_set():
                self._stopping = trio.Event()

    def stop(self) -> None:
        """Accept nothing more, close idle connections, let requests in flight finish."""
        self._stopping.set()
        while self._sockets:
            self._sockets.pop().close()

    def details(self) -> dict[str, object]:
        """Return what the tree shows."""
        return {
            "addresses": [f"{host}:{port}" for host, port in self._addresses],
            "connections": len(self._connections),
            "accepted": self._accepted,
            "stopping": self._stopping.is_set(),
        }

    async def _accept(self, connections: trio.Nursery, context: Any, task_status: trio.TaskStatus[None]) -> None:
        from hypercorn.app_wrappers import ASGIWrapper

        from picloud.actors.connection import Limits

        serve = partial(
            self._serve_client,
            app=ASGIWrapper(self._app),
            config=_make_config(),
            context=context,
            limits=Limits(**self._timeouts),
        )
        # trio closes the listeners it was given: duplicates, so that the next incarnation finds ours open
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(sock.dup())) for sock in self._sockets]
        async with trio.open_nursery() as accepting:
            await accepting.start(partial(trio.serve_listeners, serve, listeners, handler_nursery=connections))
            task_status.started()
            await self._stopping.wait()
            accepting.cancel_scope.cancel()

    async def _serve_client(
        self, stream: trio.SocketStream, *, app: Any, config: Config, context: Any, limits: Limits
    ) -> None:
        from picloud.actors.connection import Connection

        connection = Connection(stream, app, config, context, limits, self._stopping)
        self._connections.add(connection)
        self._accepted += 1
        if self._stopping.is_set():
            connection.close_if_idle()
        try:
            await connection.run()
        except Exception:
            # a fault in one connection must not take the others with it
            _log.exception("connection_failed")
        finally:
            self._connections.discard(connection)


class AppLog:
    """What hypercorn takes for its logger: faults of the app go to our log, all else nowhere."""

    def __init__(self, config: Config) -> None:
        pass

    async def access(self, request: Any, response: Any, request_time: float) -> None:
        """Log no access: the tree counts, and a proxy logs better."""

    async def exception(self, message: str, *args: Any, **kwargs: Any) -> None:
        """Log the error being handled."""
        _log.exception("app_failed", during=message)


def bind(host: str, port: int, *, settings: tuple[str, str] = ("--host", "--port")) -> socket.socket:
    """Return a listening socket; port 0 takes any free one. `settings` are what sets the two.

    Raises: AddressInUse, ServerError; their texts say what to choose instead.
    """
    family, kind, protocol, address = _resolve(host, port, settings)
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        # another server on a wildcard address may show only here
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise _explain(error, host, port, settings) from error
    sock.setblocking(False)
    return sock


def _resolve(
    host: str, port: int, settings: tuple[str, str]
) -> tuple[socket.AddressFamily, socket.SocketKind, int, Any]:
    by_host, by_port = settings
    if not 0 <= port <= 65535:
        raise ServerError(f"there is no port {port}: choose one from 1 to 65535 with {by_port}, or 0 for any free one")
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ServerError(f"unknown host '{host}': choose an address of this machine with {by_host}") from error
    # where a name has both, clients try 127.0.0.1 more often than ::1
    family, kind, protocol, _, address = min(found, key=lambda info: info[0] != socket.AF_INET)
    return family, kind, protocol, address


def _explain(error: OSError, host: str, port: int, settings: tuple[str, str]) -> ServerError:
    by_host, by_port = settings
    if error.errno == errno.EADDRINUSE:
        return AddressInUse(f"port {port} on {host} is in use by another process: choose another with {by_port}")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return ServerError(f"port {port} on {host} is not allowed to this user: choose one above 1023 with {by_port}")
    if error.errno == errno.EADDRNOTAVAIL:
        return ServerError(f"this machine has no address {host}: choose another with {by_host}")
    return ServerError(f"cannot listen on port {port} of {host}: {error.strerror}")


def _make_config() -> Config:
    from hypercorn.config import Config

    config = Config()
    config.logger_class = AppLog  # type: ignore[assignment]
    config.include_server_header = False
    config.keep_alive_max_requests = MAX_REQUESTS_PER_CONNECTION
    return config
