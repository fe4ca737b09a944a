"""An answer to an HTTP request with its own status and headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from picloud.errors import SdkError
from picloud.types import Json

MAX_HEADERS = 100
MAX_HEADER_CHARS = 8192
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")


class Response:
    """Return it from a handler: `return Response({"error": "no such order"}, status=404)`.

    The body is a JSON value; text is sent as text/plain unless `headers` say otherwise. A header that is sent more than
    once, such as Set-Cookie, is a list of texts. `invoke` gives its caller the
    body alone.
    Raises: SdkError for a status outside 200 to 599 or a header that HTTP cannot carry.
    """

    __slots__ = ("body", "headers", "status")
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"body", "status", "headers"})

    body: Json
    status: int
    headers: Mapping[str, str | list[str]]

    def __init__(
        self, body: Json = None, status: int = 200, headers: Mapping[str, str | list[str]] | None = None
    ) -> None:
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "status", _check_status(status))
        object.__setattr__(self, "headers", {} if headers is None else _check_headers(headers))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Response does not change: make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Response does not change: make another one")

    def __repr__(self) -> str:
        return f"Response(status={self.status})"


def _check_status(status: object) -> int:
    if type(status) is int and 200 <= status <= 599:
        return status
    shown = status if type(status) is int and status.bit_length() < 64 else type(status).__name__
    raise SdkError(f"Response: status must be a whole number from 200 to 599, not {shown}")


def _check_headers(headers: object) -> dict[str, str | list[str]]:
    if not isinstance(headers, dict) or len(headers) > MAX_HEADERS:
        raise SdkError(f"Response: headers must be a dict of at most {MAX_HEADERS} texts by name")
    # a copy is checked, so that nothing changes in between
    checked: dict[str, str | list[str]] = {n: list(v) if type(v) is list else v for n, v in dict(headers).items()}
    for name, value in checked.items():
        if type(name) is not str or not name or len(name) > 200 or not _NAME_CHARS.issuperset(name):
            raise SdkError("Response: a header's name must be letters, digits and dashes")
        values = value if type(value) is list else [value]
        if len(values) > MAX_HEADERS or not all(_is_header_value(one) for one in values):
            raise SdkError(f"Response: header {name} must be text on one line, or a list of such texts")
    return checked


def _is_header_value(value: object) -> bool:
    if type(value) is not str or len(value) > MAX_HEADER_CHARS:
        return False
    return all(char == "\t" or 32 <= ord(char) < 127 or 160 <= ord(char) < 256 for char in value)
