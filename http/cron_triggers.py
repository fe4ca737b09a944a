"""Cron triggers: /api/v1/apps/{app}/triggers/cron."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.catch_up import DEFAULT_LIMIT, MAX_LIMIT, CatchUp
from picloud.cron_spec import CronTriggerSpec
from picloud.db.apps import get_app
from picloud.db.connection import Connection
from picloud.db.cron import CronTrigger, get_cron_trigger, insert_cron_trigger, list_cron_triggers, update_cron_trigger
from picloud.http.bodies import RequestBody, RetryAttempts, RetryBase, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import read_model, read_query
from picloud.http.responses import respond, respond_created
from picloud.types import App, BackoffShape, TriggerId

blueprint = Blueprint("cron_triggers", __name__, url_prefix="/api/v1/apps/<app>/triggers/cron")


class CronSettingsBody(RequestBody):
    """What can be set on a cron trigger besides its schedule and queue; what is left out keeps its default or value."""

    timezone: Text = "UTC"
    script: Text | None = None
    payload: Any = None
    catch_up: CatchUp = "one"
    catch_up_limit: int = Field(default=DEFAULT_LIMIT, ge=1, le=MAX_LIMIT)
    enabled: bool = True
    retry_max_attempts: RetryAttempts = 3
    retry_backoff: BackoffShape = "exponential"
    retry_base_ms: RetryBase = 1000


class NewCronTriggerBody(CronSettingsBody):
    """A script to run, or a queue to send `payload` to, at the times of a schedule."""

    schedule: Text
    queue_name: Text | None = None


class CronTriggerChangeBody(CronSettingsBody):
    """What to change on a cron trigger; a script takes the place of a queue, and a queue that of a script."""

    schedule: Text = ""
    queue_name: Text | None = None


class CronTriggerView(View):
    """A cron trigger."""

    id: UUID
    kind: Literal["cron"] = "cron"
    schedule: str
    timezone: str
    script: str | None = Field(validation_alias="script_name")
    queue_name: str | None
    payload: Any
    catch_up: CatchUp
    catch_up_limit: int
    enabled: bool
    retry_max_attempts: int
    retry_backoff: BackoffShape
    retry_base_ms: int
    next_fire_at: Time | None
    """None: disabled, or it never comes again."""
    last_fired_at: Time | None
    created_at: Time
    updated_at: Time


class OneCronTriggerView(CronTriggerView):
    """A cron trigger, with the next times it fires for."""

    next_fires: list[Time]


@blueprint.get("")
async def index(app: str) -> Response:
    """List an app's cron triggers in the order they were made."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_cron_triggers(conn, owner.id, after=query.after_id, limit=query.limit + 1)
    return respond(make_page(rows, query, CronTriggerView.of, lambda trigger: trigger.id))


@blueprint.post("")
async def create(app: str) -> Response:
    """Have a script run, or a message sent, at the times of a schedule; the answer shows the next five."""
    body = await read_model(NewCronTriggerBody)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        trigger = await insert_cron_trigger(
            conn, owner.id, CronTriggerSpec(**body.model_dump()), max_payload_bytes=node().max_payload_bytes
        )
    node().changed("triggers")
    return respond_created(OneCronTriggerView.of(trigger))


async def show_cron_trigger(conn: Connection, owner: App, trigger_id: TriggerId) -> OneCronTriggerView:
    """Return one trigger as JSON. Raises: TriggerNotFound."""
    return OneCronTriggerView.of(await get_cron_trigger(conn, owner.id, trigger_id))


async def change_cron_trigger(
    conn: Connection, owner: App, trigger_id: TriggerId, body: CronTriggerChangeBody
) -> OneCronTriggerView:
    """Change what `body` names; the caller holds the trigger. Raises: as `update_cron_trigger`."""
    stored: CronTrigger = await get_cron_trigger(conn, owner.id, trigger_id)
    changes = body.model_dump(exclude_unset=True)
    if changes.get("script") is not None:
        changes.setdefault("queue_name", None)
    elif changes.get("queue_name") is not None:
        changes.setdefault("script", None)
    spec = CronTriggerSpec(**{**asdict(stored.spec), **changes})
    changed = await update_cron_trigger(conn, owner.id, trigger_id, spec, max_payload_bytes=node().max_payload_bytes)
    return OneCronTriggerView.of(changed)
