"""The supervision tree of this node: /api/v1/supervisor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

import trio
from pydantic import Field, RootModel
from quart import Blueprint, Response, request
from quart.wrappers.response import ResponseBody

from picloud.errors import ActorNotFound
from picloud.http.bodies import Query, Text, View
from picloud.http.node import TreeEvent, node
from picloud.http.requests import read_query, refuse_fields
from picloud.http.responses import respond
from picloud.types import FieldFault

blueprint = Blueprint("supervisor", __name__, url_prefix="/api/v1/supervisor")

HEARTBEAT_SECS = 15.0
"""A comment that often keeps proxies from closing a quiet stream."""
MAX_EVENT_DIGITS = 18


class TreeQuery(Query):
    """Which part of the tree to show, and how many levels below it."""

    path: Text | None = None
    depth: int | None = Field(default=None, ge=0, le=1000)


class EventView(RootModel[dict[str, Any]]):
    """An event of the tree, as the runtime describes it."""


class RestartedView(View):
    """The actor that was restarted."""

    path: str


@blueprint.get("")
async def show() -> Response:
    """Return the tree, or the part below `path`."""
    query = read_query(TreeQuery)
    tree = node().render_tree(query.path, query.depth)
    if tree is None:
        raise ActorNotFound(f"no actor at '{query.path}'")
    return Response(tree, content_type="application/json")


@blueprint.post("/actors/<path:path>/restart")
async def restart(path: str) -> Response:
    """Stop an actor and start it again."""
    full = "/" + path.lstrip("/")
    await node().restart_actor(full)
    return respond(RestartedView(path=full))


@blueprint.get("/events")
async def events() -> Response:
    """Stream what happens in the tree, as server-sent events."""
    stopping = request.scope.get("state", {}).get("stopping", trio.Event())
    body = EventBody(node().events(_read_last_event_id()), stopping)
    response = Response(body, content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    response.timeout = None
    return response


class EventBody(ResponseBody):
    """Events as they come, and a heartbeat while none comes, until the client leaves or the server stops.

    `source` must stand a cancelled `anext`: it then yields the next event the time after.
    """

    def __init__(self, source: AsyncIterator[TreeEvent], stopping: trio.Event) -> None:
        self._source = source
        self._stopping = stopping
        self._is_first = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._is_first:
            # sent at once: the client then knows that the stream is open
            self._is_first = False
            return b": connected\n\n"
        event: TreeEvent | None = None
        with trio.move_on_after(HEARTBEAT_SECS) as waiting:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._cancel_when_stopping, waiting)
                event = await anext(self._source)
                nursery.cancel_scope.cancel()
        if event is not None:
            return encode_event(event)
        if self._stopping.is_set():
            raise StopAsyncIteration
        return b": heartbeat\n\n"

    async def _cancel_when_stopping(self, waiting: trio.CancelScope) -> None:
        await self._stopping.wait()
        waiting.cancel()

    async def convert_to_sequence(self) -> bytes:
        raise TypeError("a stream of events has no end")


def encode_event(event: TreeEvent) -> bytes:
    """Return the event as one server-sent event; its JSON is a single line."""
    data = EventView(event.to_json()).model_dump_json()
    return f"id: {event.id}\nevent: {event.kind}\ndata: {data}\n\n".encode()


def _read_last_event_id() -> int | None:
    text = request.headers.get("Last-Event-ID", "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_EVENT_DIGITS):
        refuse_fields([FieldFault("Last-Event-ID must be the id of an event: a whole number")])
    return int(text)
