"""Email triggers: /api/v1/apps/{app}/triggers/email."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.email_triggers import (
    insert_email_trigger,
    list_email_triggers,
)
from picloud.http.bodies import RequestBody, RetryAttempts, RetryBase, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import read_model, read_query
from picloud.http.responses import respond, respond_created
from picloud.mail_spec import EmailTriggerSpec
from picloud.types import BackoffShape

blueprint = Blueprint("email_triggers", __name__, url_prefix="/api/v1/apps/<app>/triggers/email")


class EmailSettingsBody(RequestBody):
    """What can be set on an email trigger besides its address and script."""

    enabled: bool = True
    retry_max_attempts: RetryAttempts = 3
    retry_backoff: BackoffShape = "exponential"
    retry_base_ms: RetryBase = 1000


class NewEmailTriggerBody(EmailSettingsBody):
    """A script to run for mails to `name@app`."""

    name: Text
    script: Text


class EmailTriggerChangeBody(EmailSettingsBody):
    """What to change on an email trigger."""

    name: Text = ""
    script: Text = ""


class EmailTriggerView(View):
    """An email trigger."""

    id: UUID
    kind: Literal["email"] = "email"
    name: str
    address: str
    script: str = Field(validation_alias="script_name")
    enabled: bool
    retry_max_attempts: int
    retry_backoff: BackoffShape
    retry_base_ms: int
    created_at: Time
    updated_at: Time


@blueprint.get("")
async def index(app: str) -> Response:
    """List an app's email triggers in the order they were made."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_email_triggers(conn, owner.id, after=query.after_id, limit=query.limit + 1)
    return respond(make_page(rows, query, EmailTriggerView.of, lambda trigger: trigger.id))


@blueprint.post("")
async def create(app: str) -> Response:
    """Have a script run for mails to an address that nobody has."""
    body = await read_model(NewEmailTriggerBody)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        trigger = await insert_email_trigger(conn, owner.id, EmailTriggerSpec(**body.model_dump()))
    node().changed("triggers")
    return respond_created(EmailTriggerView.of(trigger))
