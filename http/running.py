"""Executions that run now, on any node: /api/v1/apps/{app}/executions/running, and how to cancel one."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Literal
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.actors.running import find_message
from picloud.db.apps import get_app
from picloud.db.running import StoredRunning, list_running, request_cancel
from picloud.engine import Cancel
from picloud.errors import ExecutionNotFound
from picloud.http.auth import caller
from picloud.http.bodies import RequestBody, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import parse_id, read_model, read_query
from picloud.http.responses import respond
from picloud.types import AppId, ExecutionId

blueprint = Blueprint("running", __name__, url_prefix="/api/v1/apps/<app>/executions")


class RunningView(View):
    """An execution that has not ended."""

    id: UUID
    node_id: UUID
    script: str = Field(validation_alias="script_name")
    source: str
    queue_name: str | None
    message_id: str | None
    started_at: Time
    cancelling: bool
    """Somebody asked for its end."""


class CancelBody(RequestBody):
    """What becomes of the message: tried again as after a failure, or discarded."""

    discard: bool = False


class CancelView(View):
    """The execution was asked to end; it does at its next tick."""

    execution_id: UUID
    status: Literal["requested"] = "requested"
    discard: bool


@blueprint.get("/running")
async def index(app: str) -> Response:
    """List what runs now, oldest first: all of this node, and of other nodes what runs for more than a second."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        others = await list_running(conn, owner.id, except_node=node().id, after=query.after_id, limit=query.limit + 1)
    own = [one for one in _list_own(owner.id) if query.after_id is None or one.id > query.after_id]
    rows = sorted([*others, *own], key=lambda one: one.id)[: query.limit + 1]
    return respond(make_page(rows, query, RunningView.of, lambda one: one.id))


@blueprint.post("/<execution>/cancel")
async def cancel(app: str, execution: str) -> Response:
    """Ask a running execution to end: its effects are dropped, its message is tried again or discarded."""
    execution_id = ExecutionId(parse_id(execution, ExecutionNotFound, "execution"))
    body = await read_model(CancelBody, optional=True)
    wish = Cancel(caller(), body.discard)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        own = any(one.id == execution_id for one in _list_own(owner.id))
        if not (own and node().cancel(execution_id, wish)):
            if not await request_cancel(conn, owner.id, execution_id, by=wish.by, discards=wish.discard):
                raise ExecutionNotFound(
                    f"no execution {execution_id} runs: it has ended, or another node began it less than a second ago"
                )
            node().changed("cancels")
    return respond(CancelView(execution_id=execution_id, discard=body.discard), HTTPStatus.ACCEPTED)


def _list_own(app_id: AppId) -> list[StoredRunning]:
    return [
        StoredRunning(
            one.id,
            node().id,
            app_id,
            one.job.script.name,
            one.job.event.source,
            *find_message(one),
            datetime.fromtimestamp(one.started_at, UTC),
            one.stopping,
        )
        for one in node().running()
        if one.job.app_id == app_id
    ]
