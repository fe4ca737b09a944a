"""Which pages of other origins may call a route: answers to preflights, and the headers that let a page read."""

from __future__ import annotations

from http import HTTPStatus

from picloud.http.problems import refuse
from picloud.http.replies import Reply, reply_refusing
from picloud.http.route_calls import RouteCall
from picloud.route_rules import Cors

EXPOSED = "X-Request-Id, X-Execution-Id"


def is_preflight(call: RouteCall) -> bool:
    """Tell whether a browser asks before it sends what a page wants to send."""
    return call.method == "OPTIONS" and "origin" in call.headers and "access-control-request-method" in call.headers


def answer_preflight(call: RouteCall, method: str, cors: Cors) -> Reply:
    """Answer for a route that takes the method."""
    origin = call.headers["origin"]
    if not cors.allows(origin):
        return _refuse(call, cors, f"pages of {origin[:200]!r} may not call this route")
    if cors.methods and method not in cors.methods and "*" not in cors.methods:
        return _refuse(call, cors, f"pages may not send {method} to this route")
    reply = Reply(HTTPStatus.NO_CONTENT, [])
    reply.headers.append(("access-control-allow-methods", ", ".join(cors.methods or (method,))))
    if cors.headers:
        reply.headers.append(("access-control-allow-headers", ", ".join(cors.headers)))
    reply.headers.append(("access-control-max-age", str(cors.max_age)))
    let_page_read(reply, call, cors)
    return reply


def let_page_read(reply: Reply, call: RouteCall, cors: Cors) -> None:
    """Add the headers that let a page of an allowed origin read the answer; the route's rules win over its handler."""
    reply.drop("access-control-allow-origin")
    reply.drop("access-control-allow-credentials")
    origin = call.headers.get("origin")
    if "*" not in cors.origins:
        # a cache must not give one origin's answer to another
        reply.headers.append(("vary", "Origin"))
    if origin is None or not cors.allows(origin):
        return
    reply.headers.append(("access-control-allow-origin", "*" if "*" in cors.origins else origin))
    if cors.credentials:
        reply.headers.append(("access-control-allow-credentials", "true"))
    if call.method != "OPTIONS":
        reply.headers.append(("access-control-expose-headers", EXPOSED))


def _refuse(call: RouteCall, cors: Cors, text: str) -> Reply:
    reply = reply_refusing(refuse(HTTPStatus.FORBIDDEN, "cors_refused", text, call.instance))
    let_page_read(reply, call, cors)
    return reply
