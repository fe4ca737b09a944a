"""From Quart's response to ASGI messages."""

from __future__ import annotations

from hypercorn.typing import ASGISendCallable
from quart.typing import ResponseTypes
from quart.utils import encode_headers
from quart.wrappers.response import DataBody, Response
from quart_trio.asgi import TrioASGIHTTPConnection


class RequestConnection(TrioASGIHTTPConnection):
    """Answer in two messages where the whole body is known; Quart takes three, each with a cost."""

    async def _send_response(self, send: ASGISendCallable, response: ResponseTypes) -> None:
        body = response.response if isinstance(response, Response) else None
        if not isinstance(body, DataBody):
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
        await send({"type": "http.response.body", "body": body.data, "more_body": False})
