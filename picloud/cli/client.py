"""A client of one node's HTTP API: JSON in and out, problem documents as errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from picloud.cli.credentials import HOW_TO_GET_A_TOKEN, Credentials
from picloud.errors import NodeRefused, NodeUnreachable, Unauthorized

CONNECT_TIMEOUT = 5.0
ANSWER_TIMEOUT = 60.0
"""Seconds; a large batch takes a while to be stored durably."""
PAGE = 200


class Client:
    """Talks to one node. Paths are below /api/v1; `path()` quotes what goes into one."""

    def __init__(self, credentials: Credentials) -> None:
        self.url = credentials.url
        host = urlsplit(credentials.url).hostname or ""
        self._http = httpx.Client(
            base_url=f"{credentials.url}/api/v1",
            headers={"Authorization": f"Bearer {credentials.token}", "Accept": "application/json"},
            timeout=httpx.Timeout(ANSWER_TIMEOUT, connect=CONNECT_TIMEOUT),
            # a proxy of the environment cannot reach this machine's own addresses
            trust_env=host not in {"localhost", "::1"} and not host.startswith("127."),
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._http.close()

    def get(self, path: str, /, **query: Any) -> Any:
        """Return what is at `path`; a query value of None is left out."""
        return self._request("GET", path, params={name: value for name, value in query.items() if value is not None})

    def post(self, path: str, body: Mapping[str, Any] | bytes) -> Any:
        """Send a JSON body, given as a mapping or as text made ready."""
        if isinstance(body, bytes):
            return self._request("POST", path, content=body, headers={"Content-Type": "application/json"})
        return self._request("POST", path, json=body)

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """Store a JSON body at `path`."""
        return self._request("PUT", path, json=body)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change what is at `path`."""
        return self._request("PATCH", path, json=body)

    def delete(self, path: str) -> None:
        """Delete what is at `path`."""
        self._request("DELETE", path)

    def items(self, path: str, /, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield all items of a list, page by page."""
        cursor: str | None = None
        while True:
            page = self.get(path, limit=PAGE, cursor=cursor, **query)
            yield from page["items"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    def _request(self, method: str, path: str, **request: Any) -> Any:
        try:
            response = self._http.request(method, path, **request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NodeUnreachable(f"cannot reach {self.url}: is `picloud up` running?") from error
        except httpx.TimeoutException as error:
            raise NodeUnreachable(
                f"{self.url} did not answer within {ANSWER_TIMEOUT:.0f} s", maybe_done=True
            ) from error
        except httpx.TransportError as error:
            why = str(error) or type(error).__name__
            raise NodeUnreachable(f"the connection to {self.url} broke: {why}", maybe_done=True) from error
        return self._read(response)

    def _read(self, response: httpx.Response) -> Any:
        if response.status_code == httpx.codes.UNAUTHORIZED:
            raise Unauthorized(f"{self.url} does not know this token: {HOW_TO_GET_A_TOKEN}")
        if response.status_code == httpx.codes.NO_CONTENT:
            return None
        try:
            value = response.json()
        except ValueError:
            value = None
        if response.is_success and value is not None:
            return value
        if isinstance(value, dict) and "detail" in value:
            raise NodeRefused(_describe(value), value)
        kind = response.headers.get("content-type", "no content type")
        raise NodeRefused(
            f"{self.url} answered {response.status_code} with {kind}: is it a picloud node?",
            {"code": "not_a_node", "status": response.status_code},
        )


def path(*parts: str) -> str:
    """Join parts into a path, each quoted."""
    return "".join("/" + quote(part, safe="") for part in parts)


def _describe(problem: Mapping[str, Any]) -> str:
    """Return a problem's text: its detail, and a line for each error that the detail does not hold yet."""
    detail = str(problem["detail"])
    lines = [_describe_error(error) for error in problem.get("errors") or () if error["detail"] not in detail]
    return "\n".join([detail, *lines])


def _describe_error(error: Mapping[str, Any]) -> str:
    where = [error[key] for key in ("pointer", "parameter") if error.get(key)]
    if error.get("line"):
        where.append(f"line {error['line']}, column {error.get('column', 0)}")
    return f"  {', '.join([*where])}: {error['detail']}" if where else f"  {error['detail']}"
