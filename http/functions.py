"""The data plane: ANY /fn/{app}/{path} runs the script that a route names."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from quart import Blueprint, Response, request
from uuid_utils.compat import uuid7

from picloud.actors.serving import RouteRequest
from picloud.engine import Outcome
from picloud.errors import InvalidPayload, MalformedBody, PayloadTooLarge
from picloud.http.node import node
from picloud.http.problems import answer_handler_failure
from picloud.http.requests import decode_json
from picloud.payload import check_json
from picloud.routes import METHODS

blueprint = Blueprint("functions", __name__, url_prefix="/fn")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}\Z")
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "x-request-id"})


@blueprint.route("/<app>/", defaults={"path": ""}, methods=list(METHODS), provide_automatic_options=False)
@blueprint.route("/<app>/<path:path>", methods=list(METHODS), provide_automatic_options=False)
async def call(app: str, path: str) -> Response:
    """Run the script bound to the route; answer once its effects are committed."""
    request_id = _read_request_id()
    data = await request.get_data(cache=False, as_text=False, parse_form_data=False)
    limit = node().max_payload_bytes
    if len(data) > limit:
        raise PayloadTooLarge(f"the body is {len(data)} bytes, the limit is {limit}")
    outcome = await node().serve(
        RouteRequest(
            app=app,
            method=request.method,
            path=f"/{path}",
            query=request.args.to_dict(),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=_decode(data),
            raw=data,
            request_id=request_id,
        )
    )
    response = await _answer(outcome)
    response.headers["X-Request-Id"] = request_id
    return response


def _read_request_id() -> str:
    """Return the caller's id where it is one, else a new one."""
    given = request.headers.get("X-Request-Id", "")
    return given if _REQUEST_ID.match(given) else str(uuid7())


def _decode(data: bytes) -> Any:
    """Return the body as its media type says: JSON, fields of a form, or text; None for everything else.

    Raises: InvalidPayload for a body that is not the JSON it says it is.
    """
    kind = request.mimetype
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        if not data.strip():
            return None
        return _decode_json(data)
    if kind == "application/x-www-form-urlencoded":
        from urllib.parse import parse_qsl

        return dict(parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True))
    if kind.startswith("text/") or not kind:
        return data.decode("utf-8", "replace") if data else None
    return None


def _decode_json(data: bytes) -> Any:
    try:
        value = decode_json(data)
    except MalformedBody as error:
        raise InvalidPayload(str(error)) from None
    check_json(value, "body")
    return value


async def _answer(outcome: Outcome) -> Response:
    if outcome.error is not None or outcome.cancelled:
        return await answer_handler_failure(outcome)
    if outcome.response is None:
        return _render(outcome.value, HTTPStatus.NO_CONTENT if outcome.value is None else HTTPStatus.OK)
    answer = outcome.response
    response = _render(answer.body, answer.status)
    for name, value in answer.headers.items():
        if name.lower() not in _OURS:
            response.headers[name] = value
    return response


def _render(body: Any, status: int) -> Response:
    """Return nothing for None, text and bytes as they are, and JSON for the rest."""
    if body is None:
        response = Response(b"", status)
        del response.headers["Content-Type"]
        return response
    if isinstance(body, str):
        return Response(body, status, content_type="text/plain; charset=utf-8")
    if isinstance(body, bytes):
        return Response(body, status, content_type="application/octet-stream")
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Response(text, status, content_type="application/json")
