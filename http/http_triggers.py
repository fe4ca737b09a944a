"""HTTP triggers: /api/v1/apps/{app}/triggers/http."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.connection import Connection
from picloud.db.http_triggers import (
    HttpTrigger,
    get_http_trigger,
    insert_http_trigger,
    list_http_triggers,
    update_http_trigger,
)
from picloud.db.scripts import get_script
from picloud.db.secrets import read_secrets, warn_of_secret
from picloud.db.triggers import lock_trigger
from picloud.errors import TriggerNotFound
from picloud.http.bodies import Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import parse_id, read_model, read_query
from picloud.http.responses import respond, respond_created
from picloud.route_rules import RULES, Auth, RouteRules, RuleFields, read_rules
from picloud.routes import Method
from picloud.types import App, AppId, TriggerId

blueprint = Blueprint("http_triggers", __name__, url_prefix="/api/v1/apps/<app>/triggers/http")


class NewHttpTriggerBody(RouteRules):
    """A script that is to answer a method and path of the app: `/orders/:id`, `/files/*rest`; who may call, and how."""

    script: Text
    path: Text
    method: Method = "POST"
    enabled: bool = True


class HttpTriggerChangeBody(RuleFields):
    """What to change on a route; what is left out stays, and null takes a rule away."""

    script: Text = ""
    path: Text = ""
    method: Method = "POST"
    enabled: bool = True


class HttpTriggerView(View):
    """An HTTP trigger; `/fn/{app}` and `path` are its URL."""

    id: UUID
    kind: Literal["http"] = "http"
    script: str
    method: str
    path: str
    enabled: bool
    auth: Auth
    secrets: list[str]
    signature: str | dict[str, Any] | None
    """The name of a known form, or what makes up another one."""
    cors: dict[str, Any] | None
    created_at: Time
    updated_at: Time
    warnings: list[str] = Field(default_factory=list)
    """What will not work yet, though it is stored."""

    @classmethod
    def of(cls, record: object, warnings: Sequence[str] = ()) -> Self:
        """Return the view of an HTTP trigger."""
        assert isinstance(record, HttpTrigger)
        rules = {"auth": "none", "secrets": [], "signature": None, "cors": None, **record.rules.to_json()}
        return cls(
            id=record.id,
            script=record.script_name,
            method=record.method,
            path=record.path,
            enabled=record.enabled,
            created_at=record.created_at,
            updated_at=record.updated_at,
            warnings=list(warnings),
            **rules,
        )


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
        trigger = await insert_http_trigger(
            conn, owner.id, body.script, body.method, body.path, enabled=body.enabled, rules=body.rules()
        )
        warnings = await _warn(conn, owner, trigger)
    node().changed("triggers")
    return respond_created(HttpTriggerView.of(trigger, warnings))


@blueprint.get("/<trigger>")
async def show(app: str, trigger: str) -> Response:
    """Return one HTTP trigger."""
    trigger_id = _parse_trigger_id(trigger)
    async with node().pool.connection() as conn:
        return respond(await show_http_trigger(conn, await get_app(conn, app), trigger_id))


@blueprint.patch("/<trigger>")
async def change(app: str, trigger: str) -> Response:
    """Change the script of an HTTP trigger, its method and path, its rules, or whether it answers."""
    trigger_id = _parse_trigger_id(trigger)
    body = await read_model(HttpTriggerChangeBody)
    async with node().pool.transaction() as conn:
        owner = await get_app(conn, app)
        await lock_trigger(conn, owner.id, trigger_id)
        changed = await change_http_trigger(conn, owner, trigger_id, body)
    node().changed("triggers")
    return respond(changed)


async def show_http_trigger(conn: Connection, owner: App, trigger_id: TriggerId) -> HttpTriggerView:
    """Return one trigger as JSON. Raises: TriggerNotFound."""
    stored = await get_http_trigger(conn, owner.id, trigger_id)
    return HttpTriggerView.of(stored, await _warn(conn, owner, stored))


async def change_http_trigger(
    conn: Connection, owner: App, trigger_id: TriggerId, body: HttpTriggerChangeBody
) -> HttpTriggerView:
    """Change what `body` names; the caller holds the trigger. Raises: as `update_http_trigger`, ScriptNotFound."""
    changed = await _change(conn, owner.id, trigger_id, body)
    return HttpTriggerView.of(changed, await _warn(conn, owner, changed))


async def _change(conn: Connection, app_id: AppId, trigger_id: TriggerId, body: HttpTriggerChangeBody) -> HttpTrigger:
    stored = await get_http_trigger(conn, app_id, trigger_id)
    given = body.model_dump(mode="json", exclude_unset=True)
    script_id = (await get_script(conn, app_id, body.script)).id if "script" in given else stored.script_id
    enabled = body.enabled if "enabled" in given else stored.enabled
    rules = stored.rules.to_json() | {name: given[name] for name in RULES if name in given}
    return await update_http_trigger(
        conn,
        app_id,
        trigger_id,
        script_id=script_id,
        method=given.get("method", stored.method),
        path=given.get("path", stored.path),
        enabled=enabled,
        rules=read_rules({name: value for name, value in rules.items() if value is not None}),
    )


async def _warn(conn: Connection, app: App, trigger: HttpTrigger) -> list[str]:
    names = trigger.rules.secrets
    known = await read_secrets(conn, app.id, names) if names else {}
    return [warn_of_secret(app.name, name) for name in names if name not in known]


def _parse_trigger_id(text: str) -> TriggerId:
    return TriggerId(parse_id(text, TriggerNotFound, "HTTP trigger"))
