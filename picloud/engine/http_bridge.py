"""`http` as a script sees it: arguments checked, the request sent while the run's meter waits."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import urlencode

from picloud.engine.http_client import HttpRequest, HttpRules
from picloud.engine.values import encode_value
from picloud.errors import HttpError
from picloud.routes import METHODS
from picloud.sdk.http import HttpResponse
from picloud.types import Json

if TYPE_CHECKING:
    from picloud.engine.execution import Run

DEFAULT_TIMEOUT: Final = 10.0
MAX_HEADERS: Final = 100
MAX_URL_CHARS: Final = 8000
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,8000}\Z")
_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})


class HttpBridge:
    """`http`: outside of the unit of work."""

    __slots__ = ("_run",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"request"})

    def __init__(self, run: Run) -> None:
        self._run = run

    def request(
        self,
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
        run = self._run
        request = HttpRequest(
            _check_method(method),
            _check_url(url, params),
            _check_headers(headers, json is not None),
            self._encode(json, content),
            time.monotonic() + min(_check_timeout(timeout), run.meter.remaining()),
            follow_redirects is True,
        )
        with run.meter.host():
            engine = run.engine()
            settings = engine.settings
            hosts = engine.world.list_http_hosts(run.job.app_id)
            rules = HttpRules(hosts, settings.http_allow_private, settings.max_http_bytes)
            response = engine.http.send(request, rules)
        run.meter.charge(len(response.content))
        return response

    def _encode(self, value: Json, content: object) -> bytes | None:
        limit = self._run.engine().settings.max_http_bytes
        if value is None:
            return _check_content(content, limit)
        if content is not None:
            raise HttpError("http: give json or content, not both")
        meter = self._run.meter
        return encode_value(value, "json", area="http", fault=HttpError, meter=meter, max_bytes=limit).encode()


def _check_method(method: object) -> str:
    if type(method) is str and method.upper() in METHODS:
        return method.upper()
    raise HttpError(f"http: unknown method (use one of {', '.join(sorted(METHODS))})")


def _check_url(url: object, params: object) -> str:
    if type(url) is not str or not 0 < len(url) <= MAX_URL_CHARS or not url.isprintable() or " " in url:
        raise HttpError(f"http: the url must be text of up to {MAX_URL_CHARS} characters, without spaces")
    if not params:
        return url
    if not isinstance(params, dict) or not all(
        type(name) is str and type(value) in (str, int, float, bool) for name, value in params.items()
    ):
        raise HttpError("http: params must be a dict of text to text or numbers")
    return f"{url}{'&' if '?' in url else '?'}{urlencode(params)}"


def _check_headers(headers: object, is_json: bool) -> dict[str, str]:
    if headers is not None and (not isinstance(headers, dict) or len(headers) > MAX_HEADERS):
        raise HttpError(f"http: headers must be a dict of up to {MAX_HEADERS} texts")
    checked = {"content-type": "application/json"} if is_json else {}
    for name, value in (headers or {}).items():
        if type(name) is not str or not _NAME.match(name) or name.lower() in _OURS:
            shown = repr(name[:100]) if type(name) is str else f"a name of type {type(name).__name__}"
            raise HttpError(f"http: {shown} is not a header that can be set")
        if type(value) is not str or not _VALUE.match(value):
            raise HttpError(f"http: the value of header {name} must be one line of Latin-1 text")
        checked[name.lower()] = value
    return checked


def _check_content(content: object, limit: int) -> bytes | None:
    if content is None:
        return None
    if type(content) is str:
        content = content.encode("utf-8", "replace")
    if type(content) is not bytes:
        raise HttpError(f"http: content must be text or bytes, not {type(content).__name__}")
    if len(content) > limit:
        raise HttpError(f"http: content is {len(content)} bytes, the limit is {limit}")
    return content


def _check_timeout(timeout: object) -> float:
    if timeout is None:
        return DEFAULT_TIMEOUT
    if type(timeout) in (int, float) and math.isfinite(timeout) and timeout > 0:  # type: ignore[arg-type,operator]
        return float(timeout)  # type: ignore[arg-type]
    raise HttpError("http: timeout must be a number of seconds above 0")
