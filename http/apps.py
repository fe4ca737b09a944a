"""Apps: /api/v1/apps."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import delete_app, get_app, insert_app, list_apps, update_app
from picloud.http.bodies import RequestBody, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import read_model, read_query
from picloud.http.responses import respond, respond_created, respond_nothing
from picloud.http.tenants import app_ids
from picloud.types import RecordMode

blueprint = Blueprint("apps", __name__, url_prefix="/api/v1/apps")


class AppBody(RequestBody):
    """An app to make."""

    name: Text


class AppPatch(RequestBody):
    """What to change of an app."""

    name: Text | None = None
    record_executions: RecordMode | None = None
    """Which executions are recorded: all, errors, or those and a share of the others (sampled)."""
    record_sample_rate: float | None = Field(default=None, ge=0, le=1)


class AppView(View):
    """An app."""

    id: UUID
    name: str
    created_at: Time
    record_executions: RecordMode
    record_sample_rate: float


@blueprint.get("")
async def index() -> Response:
    """List apps by name."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        apps = await list_apps(conn, after=query.after_name, limit=query.limit + 1)
    return respond(make_page(apps, query, AppView.of, lambda app: app.name))


@blueprint.post("")
async def create() -> Response:
    """Make an app."""
    body = await read_model(AppBody)
    async with node().pool.connection() as conn:
        return respond_created(AppView.of(await insert_app(conn, body.name)))


@blueprint.get("/<app>")
async def show(app: str) -> Response:
    """Return one app."""
    async with node().pool.connection() as conn:
        return respond(AppView.of(await get_app(conn, app)))


@blueprint.patch("/<app>")
async def change(app: str) -> Response:
    """Give an app another name, or say which of its executions are recorded."""
    body = await read_model(AppPatch)
    async with node().pool.connection() as conn:
        changed = await update_app(
            conn,
            app,
            new_name=body.name,
            record_executions=body.record_executions,
            record_sample_rate=body.record_sample_rate,
        )
    app_ids().forget(app)
    node().changed("triggers")
    return respond(AppView.of(changed))


@blueprint.delete("/<app>")
async def delete(app: str) -> Response:
    """Delete an app and all that is in it."""
    async with node().pool.connection() as conn:
        await delete_app(conn, app)
    app_ids().forget(app)
    node().changed("triggers")
    return respond_nothing()
