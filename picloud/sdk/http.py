"""Requests to the outside, to the hosts that the app allows.

Not part of the unit of work: a request that was sent stays sent, also when the handler fails afterwards or is run
again. Send an idempotency key where it matters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from picloud.errors import HttpError
from picloud.sdk.outside import refuse
from picloud.types import Json


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer, read whole. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    url: str
    encoding: str = field(default="utf-8", repr=False)

    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset(
        {"status", "headers", "content", "url", "ok", "text", "json", "raise_for_status"}
    )

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return self.status < 400

    @property
    def text(self) -> str:
        """The content as text; what does not decode is replaced."""
        return self.content.decode(self.encoding, "replace")

    def json(self) -> Any:
        """Return the content as JSON. Raises: HttpError when it is not."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            raise HttpError(f"http: the answer of {self.url} is not JSON") from None

    def raise_for_status(self) -> None:
        """Raise HttpError with the status, e.g. `http: 503 from https://…`, for a status from 400 on."""
        if not self.ok:
            raise HttpError(f"http: {self.status} from {self.url}")


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str | int | float | bool] | None = None,
    json: Json = None,
    content: str | bytes | None = None,
    timeout: float | None = None,
    follow_redirects: bool = True,
) -> HttpResponse:
    """Send a request and return the answer, whatever its status.

    The host must be on the app's list (`http_hosts` in picloud.toml), and must not resolve to a private, loopback or
    link-local address; both hold for each redirect too. `json` is sent as a JSON body, `content` as it is; not both.
    Units: `timeout` in seconds, 10 by default, never past the execution's deadline.
    Raises: HttpError (refused, no answer, too large an answer, bad arguments).
    """
    refuse("http.request")
