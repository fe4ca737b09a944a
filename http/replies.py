"""Answers of the data plane: from what a handler returned, or from a refusal, to ASGI messages."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from picloud.engine import Outcome
from picloud.http.problems import MEDIA_TYPE, Refusal

Send = Callable[[Any], Awaitable[None]]

BODILESS = frozenset({204, 205, 304})
_OURS = frozenset(
    {
        "connection", "content-length", "date", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
        "upgrade", "x-execution-id", "x-request-id",
    }
)  # fmt: skip
"""Headers of the connection, not of a handler."""


@dataclass(slots=True)
class Reply:
    """One answer; headers by lower-case name."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes = b""

    def drop(self, prefix: str) -> None:
        """Take away the headers whose name starts so."""
        self.headers = [header for header in self.headers if not header[0].startswith(prefix)]

    async def send(self, send: Send) -> None:
        """Send it in two messages; what stands for no content has neither body nor length."""
        body = b"" if self.status in BODILESS else self.body
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers]
        if self.status not in BODILESS:
            headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers, "trailers": False})
        await send({"type": "http.response.body", "body": body, "more_body": False})


def reply_with(outcome: Outcome) -> Reply:
    """Return the answer of a handler that succeeded."""
    answer = outcome.response
    if answer is None:
        reply = _render(outcome.value, 204 if outcome.value is None else 200)
    else:
        reply = _render(answer.body, answer.status)
        _add_headers(reply, answer.headers)
    reply.headers.append(("x-execution-id", str(outcome.execution_id)))
    return reply


def _add_headers(reply: Reply, headers: Mapping[str, str | Sequence[str]]) -> None:
    for given, value in headers.items():
        name = given.lower()
        if name in _OURS:
            continue
        if name == "content-type":
            reply.drop(name)
        reply.headers += [(name, one.strip()) for one in ([value] if isinstance(value, str) else value)]


def reply_refusing(refusal: Refusal) -> Reply:
    """Return a refusal as an answer."""
    headers = [("content-type", MEDIA_TYPE), *((name.lower(), value) for name, value in refusal.headers.items())]
    return Reply(refusal.status, headers, refusal.body())


def _render(body: Any, status: int) -> Reply:
    """Return nothing for None, text and bytes as they are, and JSON for the rest."""
    if body is None or status in BODILESS:
        return Reply(status, [])
    if isinstance(body, str):
        return Reply(status, [("content-type", "text/plain; charset=utf-8")], body.encode("utf-8", "replace"))
    if isinstance(body, bytes):
        return Reply(status, [("content-type", "application/octet-stream")], body)
    return Reply(status, [("content-type", "application/json")], _encode(body))


def _encode(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        # whole numbers of more than 64 bits
        return json.dumps(value, separators=(",", ":")).encode()
