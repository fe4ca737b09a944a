"""Messages that ended badly: /api/v1/apps/{app}/dead_letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.dead_letters import (
    Replayed,
    delete_dead_letter,
    get_dead_letter,
    list_dead_letters,
    replay_dead_letter,
    replay_dead_letters,
)
from picloud.db.messages import Sent
from picloud.errors import DeadLetterNotFound
from picloud.http.bodies import RequestBody, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import parse_id, read_model, read_query
from picloud.http.responses import respond, respond_nothing
from picloud.types import AppId, DeadLetterId, DeadLetterReason, NewMessage

blueprint = Blueprint("dead_letters", __name__, url_prefix="/api/v1/apps/<app>/dead_letters")


class DeadLetterQuery(PageQuery):
    """Which dead letters to list."""

    queue_name: Text | None = None
    include_resolved: bool = False


class ReplayBody(RequestBody):
    """Which dead letters to put back: the oldest first."""

    queue_name: Text | None = None
    limit: int = Field(default=1000, ge=1, le=10_000)


class DeadLetterView(View):
    """A dead letter: what the handler saw, and why it failed."""

    id: UUID
    source: str
    op: str
    queue_name: str | None
    trigger_id: UUID | None
    script: str | None = Field(validation_alias="script_name")
    event: dict[str, Any]
    reason: DeadLetterReason
    error: dict[str, Any] | None
    attempts: int
    enqueued_at: Time
    died_at: Time
    resolved_at: Time | None
    resolution: str | None
    replay_message_id: UUID | None


class ReplayedView(View):
    """A dead letter that is a message again."""

    dead_letter_id: UUID
    message_id: UUID
    queue_name: str | None


class BatchReplayedView(View):
    """The dead letters that are messages again; fewer than `limit`: there are no more."""

    items: list[ReplayedView]
    replayed: int


@blueprint.get("")
async def index(app: str) -> Response:
    """List dead letters, newest first."""
    query = read_query(DeadLetterQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_dead_letters(
            conn,
            owner.id,
            queue_name=query.queue_name,
            include_resolved=query.include_resolved,
            before=query.after_id,
            limit=query.limit + 1,
        )
    return respond(make_page(rows, query, DeadLetterView.of, lambda dead: dead.id))


@blueprint.get("/<dead_letter>")
async def show(app: str, dead_letter: str) -> Response:
    """Return one dead letter."""
    dead_letter_id = _parse_dead_letter_id(dead_letter)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        return respond(DeadLetterView.of(await get_dead_letter(conn, owner.id, dead_letter_id)))


@blueprint.delete("/<dead_letter>")
async def delete(app: str, dead_letter: str) -> Response:
    """Drop a dead letter for good."""
    dead_letter_id = _parse_dead_letter_id(dead_letter)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await delete_dead_letter(conn, owner.id, dead_letter_id)
    return respond_nothing()


@blueprint.post("/<dead_letter>/replay")
async def replay(app: str, dead_letter: str) -> Response:
    """Put one dead letter back into its queue."""
    dead_letter_id = _parse_dead_letter_id(dead_letter)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        replayed = await replay_dead_letter(conn, owner.id, dead_letter_id)
    _wake_consumers(owner.id, [replayed])
    return respond(ReplayedView.of(replayed))


@blueprint.post("/replay")
async def replay_many(app: str) -> Response:
    """Put the oldest unresolved dead letters back into their queues."""
    body = await read_model(ReplayBody, optional=True)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        replayed = await replay_dead_letters(conn, owner.id, queue_name=body.queue_name, limit=body.limit)
    _wake_consumers(owner.id, replayed)
    return respond(BatchReplayedView(items=[ReplayedView.of(one) for one in replayed], replayed=len(replayed)))


def _wake_consumers(app_id: AppId, replayed: Sequence[Replayed]) -> None:
    messages = [NewMessage(one.message_id, one.queue_name, "null") for one in replayed if one.queue_name is not None]
    node().sent(app_id, messages, [Sent(message.id, True, 0.0) for message in messages])
    if len(messages) < len(replayed):
        node().changed("outbox")


def _parse_dead_letter_id(text: str) -> DeadLetterId:
    return DeadLetterId(parse_id(text, DeadLetterNotFound, "dead letter"))
