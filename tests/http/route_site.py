"""A node's data plane whole: the real server on a socket, the API, the engine, and routes in a real database."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import trio
from http_api import Api

from picloud.actors.assembly import make_library
from picloud.actors.library import Library
from picloud.actors.server import Server, bind
from picloud.actors.serving import Serving, ServingConfig
from picloud.actors.wakes import QueueWakes
from picloud.actors.world import NodeWorld
from picloud.db.thread import ThreadConnections
from picloud.engine import Engine, EngineSettings, Outcome
from picloud.http.app import create_app

ECHO = """
def handle(event, ctx):
    return {"method": event.method, "path": event.path, "params": event.params, "query": event.query,
            "query_all": event.query_all, "headers": event.headers, "body": event.body, "raw": len(event.raw),
            "request_id": ctx.request_id, "principal": ctx.principal}
"""


@dataclass
class RouteSite:
    """The running server, what deploys to it, and what its handlers led to."""

    api: Api
    server: Server
    library: Library
    address: tuple[str, int]
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self.address)

    async def deploy(self, scripts: Mapping[str, str], *routes: Mapping[str, Any]) -> list[str]:
        """Make the app `shop` what is given; return the warnings."""
        body = {"scripts": scripts, "triggers": {"http": list(routes)}}
        answer = await self.api.post("/api/v1/apps/shop/deploy", body)
        assert answer.status == 200, answer.body
        await self.library.refresh()
        warnings: list[str] = answer.body["warnings"]
        return warnings

    async def set_secret(self, name: str, value: str) -> None:
        answer = await self.api.put(f"/api/v1/apps/shop/secrets/{name}", {"value": value})
        assert answer.status == 204, answer.body

    async def call(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request for a route of the app."""
        async with httpx.AsyncClient(timeout=30.0) as client:
            return await client.request(method, f"{self.url}/fn/shop{path}", **request)

    async def exchange(self, *pieces: bytes, pause: float = 0.0) -> bytes:
        """Send bytes as they are on a connection of their own; return all that comes until it is closed."""
        stream = await trio.open_tcp_stream(*self.address)
        received = b""
        with trio.fail_after(20):
            async with stream:
                for piece in pieces:
                    await stream.send_all(piece)
                    await trio.sleep(pause)
                with contextlib.suppress(trio.BrokenResourceError):
                    while data := await stream.receive_some(65_536):
                        received += data
        return received

    async def count_messages(self, queue: str) -> int:
        async with self.api.node.pool.connection() as conn:
            query = "select count(*) from queue_messages where queue_name = %s"
            row = await (await conn.execute(query, (queue,))).fetchone()
        assert row is not None
        return int(row[0])


@asynccontextmanager
async def open_route_site(
    api: Api, dsn: str, *, threads: int = 4, gate_wait: float = 5.0, timeout_secs: float = 5.0
) -> AsyncIterator[RouteSite]:
    """Serve until the end of the block."""
    node, wakes, reads = api.node, QueueWakes(), ThreadConnections(dsn)
    library = make_library(node.pool, wakes, poll_interval=60.0)
    outcomes: list[Outcome] = []

    def ignore(*_: Any) -> None:
        pass

    world = NodeWorld(library, reads, node.pool, trio.lowlevel.current_trio_token(), ignore)
    with contextlib.closing(Engine(EngineSettings(timeout_secs=timeout_secs), world)) as engine:
        serving = Serving(
            node.pool,
            library,
            engine,
            trio.CapacityLimiter(threads),
            ServingConfig(gate_wait=gate_wait),
            on_sent=ignore,
            on_outbox=ignore,
            on_outcomes=outcomes.extend,
        )
        whole = replace(
            node,
            compile_script=engine.compile,
            find_routes=serving.find_routes,
            serve=serving.serve,
            running=engine.running,
            cancel=engine.cancel,
        )
        sock = bind("127.0.0.1", 0)
        server = Server(create_app(whole), [sock], header_timeout=1.0)
        async with trio.open_nursery() as nursery:
            await nursery.start(server.run)
            yield RouteSite(Api(whole, api.around, api.token), server, library, sock.getsockname(), outcomes)
            server.stop()
            nursery.cancel_scope.cancel()
    reads.close_all()
