"""Making responses: every body is a pydantic model."""

from __future__ import annotations

from http import HTTPStatus

from pydantic import BaseModel
from quart import Response


def respond(body: BaseModel, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Answer with the model as JSON."""
    return Response(body.model_dump_json(), status, content_type="application/json")


def respond_created(body: BaseModel) -> Response:
    """Answer 201 with what was made."""
    return respond(body, HTTPStatus.CREATED)


def respond_nothing() -> Response:
    """Answer 204: done, and nothing to say."""
    response = Response(b"", HTTPStatus.NO_CONTENT)
    del response.headers["Content-Type"]
    return response
