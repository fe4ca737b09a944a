"""Secrets of an app: /api/v1/apps/{app}/secrets. They go in and never come out: only scripts read them."""

from __future__ import annotations

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.secrets import delete_secret, list_secrets, put_secret
from picloud.http.bodies import RequestBody, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import read_model, read_query
from picloud.http.responses import respond, respond_nothing
from picloud.names import check_secret_name

blueprint = Blueprint("secrets", __name__, url_prefix="/api/v1/apps/<app>/secrets")

MAX_SECRET_CHARS = 64 * 1024


class SecretBody(RequestBody):
    """A secret's new value."""

    value: Text = Field(min_length=1, max_length=MAX_SECRET_CHARS)


class SecretView(View):
    """That there is a secret, and since when it has its value."""

    name: str
    updated_at: Time


@blueprint.get("")
async def index(app: str) -> Response:
    """List the names of an app's secrets."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        heads = await list_secrets(conn, owner.id, after=query.after_name, limit=query.limit + 1)
    return respond(make_page(heads, query, SecretView.of, lambda head: head.name))


@blueprint.put("/<secret>")
async def put(app: str, secret: str) -> Response:
    """Set a secret, new or not."""
    check_secret_name(secret)
    body = await read_model(SecretBody)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await put_secret(conn, owner.id, secret, body.value)
    return respond_nothing()


@blueprint.delete("/<secret>")
async def delete(app: str, secret: str) -> Response:
    """Forget a secret."""
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await delete_secret(conn, owner.id, secret)
    return respond_nothing()
