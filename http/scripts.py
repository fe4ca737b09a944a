"""Scripts and their versions: /api/v1/apps/{app}/scripts."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from uuid import UUID

import trio
from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.scripts import (
    StoredScript,
    delete_script,
    get_script,
    get_script_source,
    insert_script,
    list_script_versions,
    list_scripts,
    put_script,
)
from picloud.http.bodies import RequestBody, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import read_model, read_query
from picloud.http.responses import respond, respond_created, respond_nothing
from picloud.names import check_script_name
from picloud.types import AppId

blueprint = Blueprint("scripts", __name__, url_prefix="/api/v1/apps/<app>/scripts")


class NewScriptBody(RequestBody):
    """A script to make."""

    name: Text
    source: Text


class SourceBody(RequestBody):
    """What a script is to become."""

    source: Text


class RollbackBody(RequestBody):
    """The version to go back to."""

    version: int = Field(ge=1, le=2**31 - 1)


class ScriptSummary(View):
    """A script without its source."""

    id: UUID
    name: str
    version: int
    source_sha256: str
    updated_at: Time


class ScriptView(ScriptSummary):
    """A script."""

    source: str


class StoredScriptView(ScriptView):
    """A script after a write, and whether the write made a new version."""

    changed: bool


class VersionView(View):
    """One version that a script had."""

    version: int
    source_sha256: str
    created_at: Time


@blueprint.get("")
async def index(app: str) -> Response:
    """List an app's scripts by name."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        scripts = await list_scripts(conn, owner.id, after=query.after_name, limit=query.limit + 1)
    return respond(make_page(scripts, query, ScriptSummary.of, lambda script: script.name))


@blueprint.post("")
async def create(app: str) -> Response:
    """Compile a script and make it."""
    body = await read_model(NewScriptBody)
    check_script_name(body.name)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
    await compile_source(body.name, body.source)
    async with node().pool.connection() as conn:
        script = await insert_script(conn, owner, body.name, body.source)
    node().changed("scripts")
    return respond_created(ScriptView.of(script))


@blueprint.get("/<script>")
async def show(app: str, script: str) -> Response:
    """Return one script with its source."""
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        return respond(ScriptView.of(await get_script(conn, owner.id, script)))


@blueprint.put("/<script>")
async def put(app: str, script: str) -> Response:
    """Compile a source and store it as the script's next version, or its first."""
    check_script_name(script)
    body = await read_model(SourceBody)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
    return await _store(owner.id, script, body.source)


@blueprint.delete("/<script>")
async def delete(app: str, script: str) -> Response:
    """Delete a script that no trigger runs."""
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await delete_script(conn, owner.id, script)
    node().changed("scripts")
    return respond_nothing()


@blueprint.get("/<script>/versions")
async def versions(app: str, script: str) -> Response:
    """List the versions of a script, newest first."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        found = await get_script(conn, owner.id, script)
        rows = await list_script_versions(conn, found.id, before=query.after_number, limit=query.limit + 1)
    return respond(make_page(rows, query, VersionView.of, lambda version: version.version))


@blueprint.post("/<script>/rollback")
async def rollback(app: str, script: str) -> Response:
    """Store an earlier version's source as the script's next version."""
    body = await read_model(RollbackBody)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        found = await get_script(conn, owner.id, script)
        source = await get_script_source(conn, found.id, body.version)
    # the policy may have become stricter since that version was stored
    return await _store(owner.id, script, source)


async def compile_source(name: str, source: str) -> None:
    """Check a source without holding up the node. Raises: ScriptInvalid."""
    await trio.to_thread.run_sync(partial(node().compile_script, name, source), abandon_on_cancel=True)


async def _store(app_id: AppId, name: str, source: str) -> Response:
    await compile_source(name, source)
    async with node().pool.connection() as conn:
        stored = await put_script(conn, app_id, name, source)
    if stored.changed:
        node().changed("scripts")
    is_first = stored.changed and stored.script.version == 1
    return respond(_view(stored), HTTPStatus.CREATED if is_first else HTTPStatus.OK)


def _view(stored: StoredScript) -> StoredScriptView:
    return StoredScriptView(**ScriptView.of(stored.script).model_dump(), changed=stored.changed)
