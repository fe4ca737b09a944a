"""Dead-letter triggers: /api/v1/apps/{app}/triggers/dead_letter."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.dead_letter_triggers import (
    insert_dead_letter_trigger,
    list_dead_letter_triggers,
)
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.http.bodies import RequestBody, RetryAttempts, RetryBase, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import read_model, read_query
from picloud.http.responses import respond, respond_created
from picloud.types import BackoffShape

blueprint = Blueprint("dead_letter_triggers", __name__, url_prefix="/api/v1/apps/<app>/triggers/dead_letter")


class DeadLetterSettingsBody(RequestBody):
    """A script that is to hear of new dead letters, and how it is retried."""

    script: Text
    source: Literal["queue", "invoke", "cron", "email"] | None = None
    enabled: bool = True
    retry_max_attempts: RetryAttempts = 3
    retry_backoff: BackoffShape = "exponential"
    retry_base_ms: RetryBase = 1000


class NewDeadLetterTriggerBody(DeadLetterSettingsBody):
    """The same; what is left out of `source` and `queue_name` lets any through."""

    queue_name: Text | None = None


class DeadLetterTriggerChangeBody(NewDeadLetterTriggerBody):
    """What to change on a dead-letter trigger; a source or queue that is null lets any through."""

    script: Text = ""


class DeadLetterTriggerView(View):
    """A dead-letter trigger."""

    id: UUID
    kind: Literal["dead_letter"] = "dead_letter"
    script: str = Field(validation_alias="script_name")
    source: str | None
    queue_name: str | None
    enabled: bool
    retry_max_attempts: int
    retry_backoff: BackoffShape
    retry_base_ms: int
    created_at: Time
    updated_at: Time


@blueprint.get("")
async def index(app: str) -> Response:
    """List an app's dead-letter triggers in the order they were made."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_dead_letter_triggers(conn, owner.id, after=query.after_id, limit=query.limit + 1)
    return respond(make_page(rows, query, DeadLetterTriggerView.of, lambda trigger: trigger.id))


@blueprint.post("")
async def create(app: str) -> Response:
    """Let a script hear of new dead letters."""
    body = await read_model(NewDeadLetterTriggerBody)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        trigger = await insert_dead_letter_trigger(conn, owner.id, DeadLetterTriggerSpec(**body.model_dump()))
    return respond_created(DeadLetterTriggerView.of(trigger))
