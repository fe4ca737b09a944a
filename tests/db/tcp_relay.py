"""A relay in front of a server that can go quiet: its connections stay open, and nothing goes through them any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio
from psycopg.conninfo import conninfo_to_dict, make_conninfo


@dataclass
class Relay:
    """`quiet` holds for connections made before it was set; later ones work."""

    dsn: str
    address: str = ""
    connections: int = 0
    _quiet_up_to: int = 0

    def go_quiet(self) -> None:
        """Forward nothing more on the connections that there are."""
        self._quiet_up_to = self.connections

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        target = conninfo_to_dict(self.dsn)
        self._host, self._port = str(target["host"]), int(str(target["port"]))
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = str(listener.socket.getsockname()[1])
        self.address = make_conninfo(self.dsn, host="127.0.0.1", hostaddr="", port=port)
        await trio.serve_listeners(self._serve, [listener], task_status=task_status)

    async def _serve(self, client: trio.SocketStream) -> None:
        self.connections += 1
        number = self.connections
        server: trio.SocketStream
        if self._host.startswith("/"):
            server = await trio.open_unix_socket(f"{self._host}/.s.PGSQL.{self._port}")
        else:
            server = await trio.open_tcp_stream(self._host, self._port)
        async with client, server, trio.open_nursery() as nursery:

            async def forward(source: trio.SocketStream, sink: trio.SocketStream) -> None:
                try:
                    while data := await source.receive_some(65536):
                        if number <= self._quiet_up_to:
                            await trio.sleep_forever()
                        await sink.send_all(data)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    pass
                nursery.cancel_scope.cancel()

            nursery.start_soon(forward, client, server)
            nursery.start_soon(forward, server, client)


@asynccontextmanager
async def relay_to(dsn: str) -> AsyncIterator[Relay]:
    """Run a relay in front of the server of `dsn`."""
    relay = Relay(dsn)
    async with trio.open_nursery() as nursery:
        await nursery.start(relay.run)
        yield relay
        nursery.cancel_scope.cancel()
