"""The HTTP API: one Quart app, made from the functions of a node.

Reader's map: `node.py` what the node gives · `auth.py` tokens · `requests.py`, `bodies.py`, `paging.py` reading ·
`responses.py`, `problems.py` answering · one module per resource, each with its models and a `blueprint`.
"""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

import h11
import structlog
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, Scope
from quart import request
from quart.wrappers import Response
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException

from picloud.errors import PicloudError
from picloud.http import (
    apps,
    cron_triggers,
    dead_letter_triggers,
    dead_letters,
    deployment,
    email_triggers,
    executions,
    health,
    http_triggers,
    logs,
    messages,
    queues,
    running,
    scripts,
    secrets,
    supervisor,
    triggers,
)
from picloud.http.asgi import RequestConnection, WholeRequest, make_origin_form
from picloud.http.auth import TokenCheck, check_request
from picloud.http.functions import Functions
from picloud.http.node import EXTENSION, Node
from picloud.http.problems import answer_error, answer_http_error
from picloud.http.requests import MAX_BODY_BYTES
from picloud.http.tenants import EXTENSION as APP_IDS
from picloud.http.tenants import AppIds

BODY_TIMEOUT_SECS = 60
"""How long a request's body may take to arrive."""

BLUEPRINTS = tuple(
    module.blueprint
    for module in (
        apps,
        scripts,
        secrets,
        dead_letter_triggers,
        cron_triggers,
        email_triggers,
        http_triggers,
        triggers,
        queues,
        messages,
        dead_letters,
        running,
        executions,
        logs,
        deployment,
        supervisor,
        health,
    )
)

_log = structlog.get_logger("picloud.http")


class Api(QuartTrio):
    """Quart on Trio with its faults routed to our log; it starts no background task and has no lifespan."""

    asgi_http_class = RequestConnection
    functions: Functions

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Serve one request."""
        if scope["type"] == "websocket":
            # there are none; Quart's errors would ask for a request that is none
            with suppress(h11.LocalProtocolError):  # the client left already
                await send({"type": "websocket.close", "code": 1000, "reason": None})
            return
        make_origin_form(scope)
        whole = WholeRequest(scope, receive, send)
        if self.functions.takes(scope):
            await self.functions(scope, whole.receive, whole.send)
            return
        await super().__call__(scope, whole.receive, whole.send)

    def log_exception(
        self, exception_info: tuple[type, BaseException, TracebackType] | tuple[None, None, None]
    ) -> None:
        """Log what escaped every error handler."""
        _log.error("request_failed", method=request.method, path=request.path, exc_info=exception_info)


def create_app(node: Node) -> Api:
    """Return the ASGI app that serves `node`."""
    app = Api("picloud", static_folder=None)
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, BODY_TIMEOUT=BODY_TIMEOUT_SECS, RESPONSE_TIMEOUT=None)
    app.url_map.merge_slashes = False
    app.extensions[EXTENSION] = node
    app.extensions[APP_IDS] = AppIds()
    app.register_error_handler(PicloudError, answer_error)
    app.register_error_handler(HTTPException, answer_http_error)
    app.register_error_handler(Exception, answer_error)
    tokens = TokenCheck(node.pool)
    app.functions = Functions(node, tokens.check)

    @app.before_request
    async def check() -> Response | None:
        await check_request(tokens)
        return None

    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    return app
