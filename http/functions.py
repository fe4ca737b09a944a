"""The data plane: ANY /fn/{app}/{path} runs the script that a route names.

An ASGI app of its own beside Quart's, which would cost a request more than all that is done for it here.
Reader's map: `route_calls.py` the request · `route_guards.py` who may call · `route_bodies.py` what the handler sees ·
`replies.py` the answer · `cors.py` pages of other origins.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

import trio

from picloud.actors.serving import RouteRequest, Target, list_methods, pick_route
from picloud.db.http_triggers import StoredRoute
from picloud.engine import Outcome
from picloud.errors import MethodNotAllowed
from picloud.http.cors import answer_preflight, is_preflight, let_page_read
from picloud.http.node import Node
from picloud.http.problems import explain_error, explain_failure
from picloud.http.replies import Reply, Send, reply_refusing, reply_with
from picloud.http.requests import THREAD_BYTES
from picloud.http.route_bodies import decode_body
from picloud.http.route_calls import PREFIX, ClientGone, Receive, RouteCall, first_of_each, read_body
from picloud.http.route_guards import CheckToken, RouteGuard
from picloud.routes import Match


class Functions:
    """Serve the routes of all apps."""

    def __init__(self, node: Node, check_token: CheckToken) -> None:
        self._node = node
        self._guard = RouteGuard(node.pool, check_token)

    @staticmethod
    def takes(scope: Any) -> bool:
        """Tell whether a request is for a route."""
        return scope["type"] == "http" and bytes(scope.get("raw_path") or b"").startswith(PREFIX)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request, once the effects of its handler are committed."""
        call = RouteCall(scope)
        try:
            reply = await self._reply(call, receive)
        except ClientGone:
            return
        except Exception as error:
            reply = reply_refusing(explain_error(error, call.instance))
        reply.headers.append(("x-request-id", call.request_id))
        await reply.send(send)

    async def _reply(self, call: RouteCall, receive: Receive) -> Reply:
        app, segments = call.split_path()
        matches = self._node.find_routes(app, segments)
        try:
            target = pick_route(matches, call.method)
        except MethodNotAllowed:
            if call.method != "OPTIONS":
                raise
            return _answer_options(call, matches)
        cors = target.route.rules.cors
        if cors is None:
            return await self._run(target, call, segments, receive)
        try:
            reply = await self._run(target, call, segments, receive)
        except ClientGone:
            raise
        except Exception as error:
            # a page may read why it was refused
            reply = reply_refusing(explain_error(error, call.instance))
        let_page_read(reply, call, cors)
        return reply

    async def _run(self, target: Target, call: RouteCall, segments: Sequence[str], receive: Receive) -> Reply:
        route = target.route
        principal = await self._guard.check_caller(route, call)
        data = await read_body(receive, call.announced_bytes(), self._node.max_payload_bytes)
        await self._guard.check_signature(route, call, data)
        query = call.read_query()
        request = RouteRequest(
            method=call.method,
            path="/" + "/".join(segments),
            query=first_of_each(query),
            query_all=query,
            headers=call.headers,
            body=await _decode(data, call),
            raw=data,
            request_id=call.request_id,
            principal=principal,
        )
        outcome = await _while_connected(call, receive, partial(self._node.serve, target, request))
        if outcome.error is not None or outcome.cancelled:
            return reply_refusing(explain_failure(outcome, call.instance))
        return reply_with(outcome)


async def _decode(data: bytes, call: RouteCall) -> Any:
    headers = call.headers
    decode = partial(decode_body, data, headers.get("content-type", ""), headers.get("content-encoding", ""))
    if len(data) < THREAD_BYTES:
        return decode()
    return await trio.to_thread.run_sync(decode, abandon_on_cancel=True)


async def _while_connected(call: RouteCall, receive: Receive, serve: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Return what `serve` returns, unless the client leaves first. Raises: ClientGone, and what `serve` raises."""
    if call.waiting is None:
        return await _serve_and_watch(receive, serve)
    with trio.CancelScope() as scope:
        call.waiting.add(scope)
        try:
            return await serve()
        finally:
            call.waiting.discard(scope)
    raise ClientGone


async def _serve_and_watch(receive: Receive, serve: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Do the same where the connection tells of its end only to who asks: HTTP/2, whose streams end one by one."""
    outcome: Outcome | None = None
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_wait_for_disconnect, receive, nursery.cancel_scope)
        try:
            outcome = await serve()
        except Exception as error:
            # raised below: a nursery would wrap it
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if outcome is None:
        raise ClientGone
    return outcome


async def _wait_for_disconnect(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _answer_options(call: RouteCall, matches: Sequence[Match[StoredRoute]]) -> Reply:
    """Answer for an app that has no OPTIONS route there: a browser's preflight, or which methods there are."""
    if is_preflight(call):
        method = call.headers["access-control-request-method"]
        cors = pick_route(matches, method).route.rules.cors
        if cors is not None:
            return answer_preflight(call, method, cors)
    return Reply(HTTPStatus.NO_CONTENT, [("allow", ", ".join(list_methods(matches)))])
