"""Queue triggers, and single triggers of every kind: /api/v1/apps/{app}/triggers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple
from uuid import UUID

from pydantic import BaseModel, Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.connection import Connection
from picloud.db.dead_letter_triggers import get_dead_letter_trigger, update_dead_letter_trigger
from picloud.db.email_triggers import get_email_trigger, update_email_trigger
from picloud.db.scripts import get_script
from picloud.db.triggers import (
    QueueTriggerSettings,
    delete_trigger,
    find_trigger_kind,
    get_queue_trigger,
    insert_queue_trigger,
    list_queue_triggers,
    lock_trigger,
    update_queue_trigger,
)
from picloud.errors import TriggerNotFound
from picloud.http.bodies import RequestBody, RetryAttempts, RetryBase, Text, Time, View
from picloud.http.cron_triggers import CronTriggerChangeBody, change_cron_trigger, show_cron_trigger
from picloud.http.dead_letter_triggers import DeadLetterTriggerChangeBody, DeadLetterTriggerView
from picloud.http.email_triggers import EmailTriggerChangeBody, EmailTriggerView
from picloud.http.http_triggers import HttpTriggerChangeBody, change_http_trigger, show_http_trigger
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import parse_id, read_model, read_query
from picloud.http.responses import respond, respond_created, respond_nothing
from picloud.types import App, AppId, BackoffShape, TriggerId, TriggerKind

blueprint = Blueprint("triggers", __name__, url_prefix="/api/v1/apps/<app>/triggers")


class SettingsBody(RequestBody):
    """What can be set on a queue trigger; what is left out keeps its default or its value."""

    enabled: bool = True
    visibility_timeout_secs: int = Field(default=30, ge=1, le=43_200)
    retry_max_attempts: RetryAttempts = 3
    retry_backoff: BackoffShape = "exponential"
    retry_base_ms: RetryBase = 1000
    batch_size: int = Field(default=500, ge=1, le=10_000)
    concurrency: int = Field(default=1, ge=1, le=64)


class NewQueueTriggerBody(SettingsBody):
    """A script to consume a queue with."""

    script: Text
    queue_name: Text


class TriggerChangeBody(SettingsBody):
    """What to change on a trigger."""

    script: Text = ""


class TriggerView(View):
    """A queue trigger."""

    id: UUID
    kind: Literal["queue"] = "queue"
    queue_name: str
    script: str = Field(validation_alias="script_name")
    enabled: bool
    visibility_timeout_secs: int
    retry_max_attempts: int
    retry_backoff: BackoffShape
    retry_base_ms: int
    batch_size: int
    concurrency: int
    last_fired_at: Time | None
    created_at: Time
    updated_at: Time


@blueprint.get("")
async def index(app: str) -> Response:
    """List an app's triggers in the order they were made."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_queue_triggers(conn, app_id=owner.id, after=query.after_id, limit=query.limit + 1)
    return respond(make_page(rows, query, TriggerView.of, lambda trigger: trigger.id))


@blueprint.post("/queue")
async def create(app: str) -> Response:
    """Bind a script to a queue that has no consumer."""
    body = await read_model(NewQueueTriggerBody)
    settings = QueueTriggerSettings(**body.model_dump(exclude={"script", "queue_name"}))
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        trigger = await insert_queue_trigger(conn, owner.id, body.script, body.queue_name, settings)
    node().changed("triggers")
    return respond_created(TriggerView.of(trigger))


@blueprint.get("/<trigger>")
async def show(app: str, trigger: str) -> Response:
    """Return one trigger, of any kind."""
    trigger_id = _parse_trigger_id(trigger)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        kind = await _find_kind(conn, owner, trigger_id)
        return respond(await kind.show(conn, owner, trigger_id))


@blueprint.patch("/<trigger>")
async def change(app: str, trigger: str) -> Response:
    """Change a trigger of any kind: its settings, the script it runs, and what it runs for but a queue's name."""
    trigger_id = _parse_trigger_id(trigger)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        kind = await _find_kind(conn, owner, trigger_id)
    # a kind never changes: only its fields are read, and no connection waits for them
    body = await read_model(kind.body)
    async with node().pool.transaction() as conn:
        await lock_trigger(conn, owner.id, trigger_id)
        changed = await kind.change(conn, owner, trigger_id, body)
    node().changed("triggers")
    return respond(changed)


@blueprint.delete("/<trigger>")
async def delete(app: str, trigger: str) -> Response:
    """Delete a trigger of any kind; a queue keeps its messages."""
    trigger_id = _parse_trigger_id(trigger)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await delete_trigger(conn, owner.id, trigger_id)
    node().changed("triggers")
    return respond_nothing()


async def _show_queue_trigger(conn: Connection, owner: App, trigger_id: TriggerId) -> TriggerView:
    return TriggerView.of(await get_queue_trigger(conn, owner.id, trigger_id))


async def _change_queue_trigger(
    conn: Connection, owner: App, trigger_id: TriggerId, body: TriggerChangeBody
) -> TriggerView:
    stored = await get_queue_trigger(conn, owner.id, trigger_id)
    names = SettingsBody.model_fields
    settings = QueueTriggerSettings(**{name: getattr(stored, name) for name in names})
    settings = replace(settings, **body.model_dump(exclude_unset=True, exclude={"script"}))
    script_id = stored.script_id
    if "script" in body.model_fields_set:
        script_id = (await get_script(conn, owner.id, body.script)).id
    return TriggerView.of(await update_queue_trigger(conn, owner.id, trigger_id, settings, script_id=script_id))


class _Kind(NamedTuple):
    """What is to be done for a trigger of one kind."""

    body: type[BaseModel]
    show: Callable[[Connection, App, TriggerId], Awaitable[View]]
    change: Callable[[Connection, App, TriggerId, Any], Awaitable[View]]


def _by_spec(
    body: type[BaseModel],
    view: type[View],
    get: Callable[[Connection, AppId, TriggerId], Awaitable[Any]],
    update: Callable[[Connection, AppId, TriggerId, Any], Awaitable[Any]],
) -> _Kind:
    """A kind whose spec takes the fields of a change as they are."""

    async def show(conn: Connection, owner: App, trigger_id: TriggerId) -> View:
        return view.of(await get(conn, owner.id, trigger_id))

    async def change(conn: Connection, owner: App, trigger_id: TriggerId, changes: BaseModel) -> View:
        stored = await get(conn, owner.id, trigger_id)
        spec = replace(stored.spec, **changes.model_dump(exclude_unset=True))
        return view.of(await update(conn, owner.id, trigger_id, spec))

    return _Kind(body, show, change)


_KINDS: Mapping[TriggerKind, _Kind] = {
    "queue": _Kind(TriggerChangeBody, _show_queue_trigger, _change_queue_trigger),
    "http": _Kind(HttpTriggerChangeBody, show_http_trigger, change_http_trigger),
    "cron": _Kind(CronTriggerChangeBody, show_cron_trigger, change_cron_trigger),
    "email": _by_spec(EmailTriggerChangeBody, EmailTriggerView, get_email_trigger, update_email_trigger),
    "dead_letter": _by_spec(
        DeadLetterTriggerChangeBody, DeadLetterTriggerView, get_dead_letter_trigger, update_dead_letter_trigger
    ),
}


async def _find_kind(conn: Connection, owner: App, trigger_id: TriggerId) -> _Kind:
    kind = await find_trigger_kind(conn, owner.id, trigger_id)
    if kind is None:
        raise TriggerNotFound(f"no trigger {trigger_id}")
    return _KINDS[kind]


def _parse_trigger_id(text: str) -> TriggerId:
    return TriggerId(parse_id(text, TriggerNotFound, "trigger"))
