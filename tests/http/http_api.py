"""A client of the HTTP API without a server, and a node around the API that notes what it is told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn
from uuid import uuid4

from picloud.actors.serving import RouteRequest, Serving, Target
from picloud.db.http_triggers import StoredRoute
from picloud.db.messages import Sent
from picloud.engine import Cancel, Outcome, RunningExecution
from picloud.errors import ActorNotFound, RouteNotFound, ScriptInvalid
from picloud.http.app import create_app
from picloud.http.node import Node, TreeEvent
from picloud.routes import Match
from picloud.types import AppId, ExecutionId, Fault, NewMessage

MAX_PAYLOAD_BYTES = 1024 * 1024
NODE_ID = uuid4()


@dataclass
class Surroundings:
    """What the node around the API was told, and what it answers."""

    sent: list[tuple[AppId, list[str]]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)
    woken: list[str] = field(default_factory=list)
    running: list[RunningExecution] = field(default_factory=list)
    cancelled: list[tuple[ExecutionId, Cancel]] = field(default_factory=list)
    serving: Serving | None = None
    """What runs handlers, where a test has one."""

    def cancel(self, execution_id: ExecutionId, cancel: Cancel) -> bool:
        self.cancelled.append((execution_id, cancel))
        return any(one.id == execution_id for one in self.running)

    def note_sent(self, app_id: AppId, messages: Sequence[NewMessage], sent: Sequence[Sent]) -> None:
        assert len(messages) == len(sent)
        self.sent.append((app_id, [message.queue_name for message in messages]))

    async def readiness(self) -> list[str]:
        return self.reasons

    async def restart(self, path: str) -> None:
        if path != "/picloud/consumers/shop/orders":
            raise ActorNotFound(f"no actor at '{path}'")
        self.restarted.append(path)

    def snapshot(self, path: str | None, depth: int | None) -> dict[str, Any] | None:
        if path not in {None, "/picloud", "/picloud/consumers/shop/orders"}:
            return None
        return {"id": "picloud", "path": path or "/picloud", "depth": depth}

    def find_routes(self, app: str, segments: Sequence[str]) -> list[Match[StoredRoute]]:
        return self.serving.find_routes(app, segments) if self.serving else _no_routes(segments)

    async def serve(self, target: Target, request: RouteRequest) -> Outcome:
        assert self.serving is not None
        return await self.serving.serve(target, request)

    def render_tree(self, path: str | None, depth: int | None) -> bytes | None:
        tree = self.snapshot(path, depth)
        return None if tree is None else json.dumps(tree).encode()


def _no_routes(segments: Sequence[str]) -> NoReturn:
    raise RouteNotFound(f"no route for '/{'/'.join(segments)}'")


def compile_script(name: str, source: str) -> None:
    """Refuse each line that holds the word `forbidden`."""
    lines = source.splitlines()
    faults = [
        Fault(at, line.index("forbidden") + 1, "this is forbidden")
        for at, line in enumerate(lines, 1)
        if "forbidden" in line
    ]
    if faults:
        raise ScriptInvalid(name, faults)


async def no_events(after: int | None) -> AsyncIterator[TreeEvent]:
    """Yield nothing."""
    return
    yield


@dataclass
class Answer:
    """A response with its body read."""

    status: int
    headers: Any
    body: Any

    @property
    def code(self) -> str:
        """The problem's code."""
        assert self.headers["Content-Type"] == "application/problem+json", self.body
        assert self.body["status"] == self.status
        assert self.body["type"] == f"urn:picloud:error:{self.body['code']}"
        return str(self.body["code"])

    @property
    def pointers(self) -> list[str | None]:
        """The places that the problem names."""
        return [fault.get("pointer") for fault in self.body["errors"]]


class Api:
    """A client with a token."""

    def __init__(self, node: Node, around: Surroundings, token: str) -> None:
        self.app = create_app(node)
        self.node = node
        self.around = around
        self.token = token
        self.client = self.app.test_client()

    async def call(
        self, method: str, path: str, body: Any = None, *, data: bytes | None = None, headers: Any = None
    ) -> Answer:
        """Send a request with `body` as JSON, or with `data` as it is."""
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        if body is not None:
            data = json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        response = await self.client.open(path, method=method, headers=sent, data=data)
        raw = await response.get_data(as_text=False)
        return Answer(response.status_code, response.headers, json.loads(raw) if raw else None)

    async def get(self, path: str) -> Answer:
        """GET."""
        return await self.call("GET", path)

    async def post(self, path: str, body: Any = None) -> Answer:
        """POST."""
        return await self.call("POST", path, body)

    async def put(self, path: str, body: Any = None) -> Answer:
        """PUT."""
        return await self.call("PUT", path, body)

    async def patch(self, path: str, body: Any = None) -> Answer:
        """PATCH."""
        return await self.call("PATCH", path, body)

    async def delete(self, path: str) -> Answer:
        """DELETE."""
        return await self.call("DELETE", path)
