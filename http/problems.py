"""Errors as problem documents (RFC 9457). The one place that knows which error has which HTTP status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import structlog
from psycopg import errors as sql_errors
from pydantic import BaseModel
from quart import Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from picloud import errors
from picloud.engine import Outcome
from picloud.errors import InvalidFields, InvalidInput, PicloudError, ScriptInvalid, ScriptsInvalid
from picloud.types import ExecutionStatus

STATUSES: dict[type[PicloudError], HTTPStatus] = {
    errors.InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.PayloadTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.MalformedBody: HTTPStatus.BAD_REQUEST,
    errors.UnsupportedMediaType: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    errors.InvalidSetting: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.Unauthorized: HTTPStatus.UNAUTHORIZED,
    errors.DatabaseError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.DatabaseUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.DatabaseMisconfigured: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ServerError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.ClientError: HTTPStatus.INTERNAL_SERVER_ERROR,
    # raised by a script that runs: its failure is not the caller's
    errors.SdkError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.EngineClosed: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    errors.GateFull: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.BodyTimeout: HTTPStatus.REQUEST_TIMEOUT,
    errors.RouteSecretMissing: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""The status of each family of errors, and of the members that differ from theirs."""

HTTP_CODES = {
    HTTPStatus.NOT_FOUND: ("route_not_found", "no such path in this API"),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method_not_allowed", "this path does not take that method"),
    HTTPStatus.REQUEST_TIMEOUT: ("request_timeout", "the body did not arrive in time"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        "body_too_large",
        "the body is larger than 16 MiB: send fewer messages at once",
    ),
}
"""Code and text for what the HTTP layer itself refuses."""

_FAILED = (HTTPStatus.INTERNAL_SERVER_ERROR, "handler_failed", "the handler failed")
_FAILURES: Mapping[ExecutionStatus, tuple[HTTPStatus, str, str]] = {
    "timeout": (HTTPStatus.GATEWAY_TIMEOUT, "handler_timeout", "the handler ran out of time"),
    # no 503: who had it stopped does not want it sent again at once
    "cancelled": (HTTPStatus.INTERNAL_SERVER_ERROR, "execution_cancelled", "the execution was cancelled"),
}
"""How a handler is answered for that did not end well, by its execution's status."""

MAX_FAULTS = 100
"""Faults that one problem document lists; its `detail` counts them all."""
MAX_TEXT = 2000
RETRY_AFTER = "2"
"""Seconds."""
MEDIA_TYPE = "application/problem+json"

_log = structlog.get_logger("picloud.http")


class ProblemFault(BaseModel):
    """One fault: a place in the body (JSON pointer), in the query or in a script, and what is wrong there."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None
    line: int | None = None
    column: int | None = None


class Problem(BaseModel):
    """A problem document. `code` is stable; `type` is the same as a URI."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    instance: str
    errors: list[ProblemFault] | None = None


def find_status(kind: type[PicloudError]) -> HTTPStatus:
    """Return the status of the class, or of its nearest listed ancestor. Raises: KeyError where there is none."""
    listed = next((ancestor for ancestor in kind.__mro__ if ancestor in STATUSES), kind)
    return STATUSES[listed]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A problem document with the headers that belong to it."""

    problem: Problem
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return self.problem.status

    def body(self) -> bytes:
        """Return the document as JSON."""
        return self.problem.model_dump_json(exclude_none=True).encode()


def refuse(status: HTTPStatus, code: str, detail: str, instance: str, **headers: str) -> Refusal:
    """Return the refusal of the request for `instance`; headers by their name with underscores."""
    return Refusal(_problem(status, code, detail, instance), {n.replace("_", "-"): v for n, v in headers.items()})


def explain_error(error: Exception, instance: str) -> Refusal:
    """Return how an error is answered: one of ours by its text, any other as a 500 whose text goes to the log."""
    if isinstance(error, PicloudError) and find_status(type(error)) != HTTPStatus.INTERNAL_SERVER_ERROR:
        return _explain(error, instance)
    if isinstance(error, sql_errors.ForeignKeyViolation | sql_errors.DeadlockDetected):
        text = "another request changed or deleted the same thing at that moment: look again, then retry"
        return refuse(HTTPStatus.CONFLICT, errors.Conflict.code, text, instance)
    _log.error("request_failed", path=instance, exc_info=error)
    text = "the server failed to answer; its log says why"
    return refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", text, instance)


def explain_failure(outcome: Outcome, instance: str) -> Refusal:
    """Return how a handler is answered for that raised or was stopped; its text is for the app's people, in the log."""
    if outcome.cancelled:
        text = "the server is shutting down"
        return refuse(HTTPStatus.SERVICE_UNAVAILABLE, "shutting_down", text, instance, Retry_After=RETRY_AFTER)
    status, code, text = _FAILURES.get(outcome.status, _FAILED)
    execution = str(outcome.execution_id)
    return refuse(status, code, f"{text} (execution {execution})", instance, X_Execution_Id=execution)


async def answer_error(error: Exception) -> Response:
    """Answer with the problem document of an error, whoever foresaw it."""
    return _respond(explain_error(error, request.path))


async def answer_http_error(error: HTTPException) -> Response:
    """Answer with the problem document of an error of the HTTP layer."""
    status = HTTPStatus(error.code or 500)
    code, detail = HTTP_CODES.get(status, ("http_error", error.description or status.phrase))
    response = _respond(refuse(status, code, detail, request.path))
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def _respond(refusal: Refusal) -> Response:
    return Response(refusal.body(), refusal.status, dict(refusal.headers), content_type=MEDIA_TYPE)


def _explain(error: PicloudError, instance: str) -> Refusal:
    status = find_status(type(error))
    headers: dict[str, str] = {}
    if status == HTTPStatus.UNAUTHORIZED:
        if not isinstance(error, errors.SignatureInvalid):
            headers["WWW-Authenticate"] = 'Bearer realm="picloud"'
    elif isinstance(error, errors.MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    elif status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = RETRY_AFTER
    return Refusal(_problem(status, error.code, str(error), instance, list(_faults(error))), headers)


def _problem(
    status: HTTPStatus, code: str, detail: str, instance: str, faults: list[ProblemFault] | None = None
) -> Problem:
    return Problem(
        type=f"urn:picloud:error:{code}",
        title=code.replace("_", " ").capitalize(),
        status=status,
        code=code,
        detail=_plain(detail),
        instance=_plain(instance),
        errors=faults or None,
    )


def _faults(error: PicloudError) -> Iterator[ProblemFault]:
    if isinstance(error, InvalidFields):
        for field in error.faults[:MAX_FAULTS]:
            pointer = None if field.pointer is None else _plain(field.pointer)
            parameter = None if field.parameter is None else _plain(field.parameter)
            yield ProblemFault(detail=_plain(field.message), pointer=pointer, parameter=parameter)
    elif isinstance(error, ScriptsInvalid):
        for script in error.scripts[:MAX_FAULTS]:
            yield from _faults(script)
    elif isinstance(error, ScriptInvalid):
        pointer = _plain(error.pointer or "/source")
        for fault in error.faults[:MAX_FAULTS]:
            yield ProblemFault(detail=_plain(fault.message), pointer=pointer, line=fault.line, column=fault.column)
    elif isinstance(error, InvalidInput) and error.pointer is not None:
        yield ProblemFault(detail=_plain(str(error)), pointer=_plain(error.pointer))


def _plain(text: str) -> str:
    """Return text that JSON can carry and a person can read: what a caller sent may be neither."""
    text = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
    return text.encode("utf-8", "backslashreplace").decode()
