"""A request for a route, as it came: its path by segments, headers, query, and the id that goes with it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_to_bytes

import trio
from uuid_utils import uuid7

from picloud.errors import BodyTimeout, InvalidInput, PayloadTooLarge, RouteNotFound

Receive = Callable[[], Awaitable[Any]]

PREFIX: Final = b"/fn/"
BODY_TIMEOUT_SECS: Final = 60.0
"""How long a request's body may take to arrive."""
MAX_FIELDS: Final = 1000
"""Of a query or a form."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}\Z")


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


class RouteCall:
    """One request for `/fn/{app}/…`, before its body is read."""

    __slots__ = ("_query_string", "_raw_path", "headers", "method", "request_id", "waiting")

    def __init__(self, scope: Any) -> None:
        self.method: str = scope["method"]
        self._raw_path: bytes = scope["raw_path"]
        self._query_string: bytes = scope["query_string"]
        headers: dict[str, str] = {}
        for raw_name, raw_value in scope["headers"]:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            if name in headers:
                # RFC 9110 5.3; HTTP/2 sends each cookie by itself
                value = f"{headers[name]}{'; ' if name == 'cookie' else ', '}{value}"
            headers[name] = value
        self.headers = headers
        state = scope.get("state") or {}
        self.waiting: set[trio.CancelScope] | None = None if scope["http_version"] == "2" else state.get("waiting")
        """Scopes that the connection cancels when the client leaves, where it does that."""
        given = headers.get("x-request-id", "")
        self.request_id = given if _REQUEST_ID.match(given) else str(uuid7())
        """The caller's own where it is one, else a new one."""

    @property
    def instance(self) -> str:
        """The path as a problem document names it."""
        return self._raw_path.decode("latin-1")

    def split_path(self) -> tuple[str, list[str]]:
        """Return the app's name and the segments after it: `/fn/a/` and `/fn/a` have none.

        An encoded slash is part of its segment. Raises: RouteNotFound for a path that no route can have.
        """
        app, *segments = [_decode_segment(part) for part in self._raw_path[len(PREFIX) :].split(b"/")]
        return app, [] if segments == [""] else segments

    def read_query(self) -> dict[str, list[str]]:
        """Return the values of each parameter in the order they came. Raises: InvalidInput."""
        return parse_fields(self._query_string, "the query") if self._query_string else {}

    def announced_bytes(self) -> int:
        """Return the size that the body will have; 0 where the request does not say."""
        length = self.headers.get("content-length", "0")
        return int(length) if length.isdecimal() else 0


def parse_fields(data: bytes, what: str) -> dict[str, list[str]]:
    """Return URL-encoded fields, every value of each. Raises: InvalidInput."""
    try:
        pairs = parse_qsl(data.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidInput(f"{what} has more than {MAX_FIELDS} fields") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


async def read_body(receive: Receive, announced: int, limit: int) -> bytes:
    """Return the whole body. Raises: PayloadTooLarge as soon as that is known, BodyTimeout, ClientGone."""
    if announced > limit:
        raise PayloadTooLarge(f"the body is {announced} bytes, the limit is {limit}")
    parts: list[bytes] = []
    size = 0
    with trio.move_on_after(BODY_TIMEOUT_SECS):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientGone
            if part := message.get("body"):
                parts.append(part)
                size += len(part)
                if size > limit:
                    raise PayloadTooLarge(f"the body is larger than the limit of {limit} bytes")
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)
    raise BodyTimeout("the body did not arrive in time")


def first_of_each(fields: dict[str, list[str]]) -> dict[str, str]:
    """Return the first value of each field."""
    return {name: values[0] for name, values in fields.items()}


def shorten(values: Sequence[Any]) -> Any:
    """Return the one value, or the list of several."""
    return values[0] if len(values) == 1 else list(values)


def _decode_segment(part: bytes) -> str:
    try:
        text = (unquote_to_bytes(part) if b"%" in part else part).decode()
    except UnicodeDecodeError:
        raise RouteNotFound("no route: the path is not UTF-8 text") from None
    # clients resolve dots before they send, proxies too: what is left of them is an attempt to confuse one of these
    if text in (".", "..") or "\0" in text:
        raise RouteNotFound(f"no route: a path has no segment {text!r}")
    return text
