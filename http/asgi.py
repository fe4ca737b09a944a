"""From Quart's response to ASGI messages."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import trio
from hypercorn.typing import ASGISendCallable
from quart.typing import ResponseTypes
from quart.utils import encode_headers
from quart.wrappers.response import DataBody, Response
from quart_trio.asgi import TrioASGIHTTPConnection

_ABSOLUTE = re.compile(rb"https?://[^/?#]*", re.IGNORECASE)


def make_origin_form(scope: Any) -> None:
    """Have the path of a request begin with a slash, whatever form its target has: clients of proxies send a whole URL.

    Quart cannot take what has no path (`GET ?x`), or a URL that nobody can parse.
    """
    raw: bytes = scope.get("raw_path") or b""
    if raw.startswith(b"/"):
        return
    rest = _ABSOLUTE.sub(b"", raw, count=1)
    scope["raw_path"] = rest if rest.startswith(b"/") else b"/" + rest
    scope["path"] = unquote(scope["raw_path"].decode("latin-1"))


MAX_DRAIN_BYTES = 1024 * 1024
DRAIN_SECS = 0.5
"""How much, and for how long, is read of a body that nobody wants."""


class WholeRequest:
    """Have a request arrive whole before it is answered, or tell the client that its connection ends.

    Clients send a body apart from its head. After an answer in between (404, 401) the server cannot use the connection
    any more, and a client that was not told sends its next request into a closed one.
    """

    __slots__ = ("_is_whole", "_receive", "_send")

    def __init__(self, scope: Any, receive: Any, send: Any) -> None:
        self._receive = receive
        self._send = send
        self._is_whole = scope["http_version"] == "2"

    async def receive(self) -> Any:
        """Return the next message, and note the last one."""
        message = await self._receive()
        if not message.get("more_body", False):
            self._is_whole = True
        return message

    async def send(self, message: Any) -> None:
        """Send a message; before the first one what is left of the body is read."""
        if not self._is_whole:
            await self._drain()
            if not self._is_whole:
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
                self._is_whole = True
        await self._send(message)

    async def _drain(self) -> None:
        left = MAX_DRAIN_BYTES
        with trio.move_on_after(DRAIN_SECS):
            while left > 0 and not self._is_whole:
                left -= len((await self.receive()).get("body", b""))


class RequestConnection(TrioASGIHTTPConnection):
    """Answer in two messages where the whole body is known; Quart takes three, each with a cost."""

    async def _send_response(self, send: ASGISendCallable, response: ResponseTypes) -> None:
        body = response.response if isinstance(response, Response) else None
        # HEAD asks for no body: a stream without an end would be made for nobody, and its head never be sent
        is_head = isinstance(response, Response) and self.scope["method"] == "HEAD"
        if not isinstance(body, DataBody) and not is_head:
            await super()._send_response(send, response)
            return
        await send(
            {
                "type": "http.response.start",
                "status": response.status_code,
                "headers": encode_headers(response.headers),
                "trailers": False,
            }
        )
        await send(
            {"type": "http.response.body", "body": body.data if isinstance(body, DataBody) else b"", "more_body": False}
        )
