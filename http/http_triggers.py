"""HTTP triggers: /api/v1/apps/{app}/triggers/http."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.http_triggers import insert_http_trigger, list_http_triggers
from picloud.http.bodies import RequestBody, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import read_model, read_query
from picloud.http.responses import respond, respond_created
from picloud.routes import Method

blueprint = Blueprint("http_triggers", __name__, url_prefix="/api/v1/apps/<app>/triggers/http")


class NewHttpTriggerBody(RequestBody):
    """A script that is to answer a method and path of the app: `/orders/:id`, `/files/*rest`."""

    script: Text
    path: Text
    method: Method = "POST"
    enabled: bool = True


class HttpTriggerView(View):
    """An HTTP trigger; `/fn/{app}` and `path` are its URL."""

    id: UUID
    kind: Literal["http"] = "http"
    script: str = Field(validation_alias="script_name")
    method: str
    path: str
    enabled: bool
    created_at: Time
    updated_at: Time


@blueprint.get("")
async def index(app: str) -> Response:
    """List an app's HTTP triggers in the order they were made."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_http_triggers(conn, owner.id, after=query.after_id, limit=query.limit + 1)
    return respond(make_page(rows, query, HttpTriggerView.of, lambda trigger: trigger.id))


@blueprint.post("")
async def create(app: str) -> Response:
    """Bind a script to a method and path that nobody has."""
    body = await read_model(NewHttpTriggerBody)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        trigger = await insert_http_trigger(conn, owner.id, body.script, body.method, body.path, enabled=body.enabled)
    node().changed("triggers")
    return respond_created(HttpTriggerView.of(trigger))
