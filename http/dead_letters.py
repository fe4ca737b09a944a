"""Messages that ended badly: /api/v1/apps/{app}/dead_letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.dead_letters import (
    DeadLetterFilter,
    Replay,
    Replayed,
    delete_dead_letter,
    discard_dead_letter,
    get_dead_letter,
    list_dead_letters,
    reopen_dead_letter,
    replay_dead_letter,
    replay_dead_letters,
)
from picloud.db.messages import Sent
from picloud.errors import DeadLetterNotFound
from picloud.http.auth import caller
from picloud.http.bodies import Delay, Moment, RequestBody, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import parse_id, read_model, read_query, refuse_fields
from picloud.http.responses import respond, respond_nothing
from picloud.names import check_queue_name
from picloud.types import AppId, DeadLetterId, DeadLetterReason, FieldFault, NewMessage

blueprint = Blueprint("dead_letters", __name__, url_prefix="/api/v1/apps/<app>/dead_letters")


class DeadLetterQuery(PageQuery):
    """Which dead letters to list."""

    queue_name: Text | None = None
    script: Text | None = None
    error_type: Text | None = None
    reason: DeadLetterReason | None = None
    died_after: Moment | None = None
    died_before: Moment | None = None
    include_resolved: bool = False


class ReplayBody(RequestBody):
    """How to put a dead letter back."""

    to_queue: Text | None = None
    delay: Delay = 0.0


class BatchReplayBody(ReplayBody):
    """Which dead letters to put back: the oldest first; and how many are to become due in a second."""

    queue_name: Text | None = None
    script: Text | None = None
    error_type: Text | None = None
    reason: DeadLetterReason | None = None
    died_after: Moment | None = None
    died_before: Moment | None = None
    per_second: float | None = Field(default=None, ge=0.001, le=100_000)
    limit: int = Field(default=1000, ge=1, le=10_000)


class ResolutionBody(RequestBody):
    """Discard a dead letter, and say why; null: take a discard back."""

    resolution: Literal["discarded"] | None
    note: Text | None = Field(default=None, max_length=2000)


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
    resolved_by: str | None
    resolution_note: str | None
    replay_message_id: UUID | None


class ReplayedView(View):
    """A dead letter that is a message again."""

    dead_letter_id: UUID
    message_id: UUID
    queue_name: str | None
    due_in: float


class BatchReplayedView(View):
    """The dead letters that are messages again; fewer than `limit`: there are no more.

    What dies from `as_of` on was not meant: give it as `died_before` to go on.
    """

    items: list[ReplayedView]
    replayed: int
    as_of: Time


@blueprint.get("")
async def index(app: str) -> Response:
    """List dead letters, newest first."""
    query = read_query(DeadLetterQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_dead_letters(
            conn,
            owner.id,
            wanted=_filter(query),
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


@blueprint.patch("/<dead_letter>")
async def resolve(app: str, dead_letter: str) -> Response:
    """Discard a dead letter: it is kept as resolved, with who did it and why; or take that back."""
    dead_letter_id = _parse_dead_letter_id(dead_letter)
    body = await read_model(ResolutionBody)
    if body.resolution is None and body.note is not None:
        refuse_fields([FieldFault("goes with a resolution", "/note")])
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        if body.resolution is None:
            dead = await reopen_dead_letter(conn, owner.id, dead_letter_id)
        else:
            dead = await discard_dead_letter(conn, owner.id, dead_letter_id, by=caller(), note=body.note)
    return respond(DeadLetterView.of(dead))


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
    """Put one dead letter back into its queue, or into another."""
    dead_letter_id = _parse_dead_letter_id(dead_letter)
    body = await read_model(ReplayBody, optional=True)
    wish = _read_replay(body)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        replayed = await replay_dead_letter(conn, owner.id, dead_letter_id, wish)
    _wake_consumers(owner.id, [replayed])
    return respond(ReplayedView.of(replayed))


@blueprint.post("/replay")
async def replay_many(app: str) -> Response:
    """Put the oldest unresolved dead letters back: all, or those of a queue, script, error type, reason or time."""
    body = await read_model(BatchReplayBody, optional=True)
    wish = _read_replay(body, body.per_second)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        replayed, as_of = await replay_dead_letters(conn, owner.id, wish, wanted=_filter(body), limit=body.limit)
    _wake_consumers(owner.id, replayed)
    items = [ReplayedView.of(one) for one in replayed]
    return respond(BatchReplayedView(items=items, replayed=len(items), as_of=as_of))


def _read_replay(body: ReplayBody, per_second: float | None = None) -> Replay:
    if body.to_queue is not None:
        check_queue_name(body.to_queue)
    return Replay(caller(), body.to_queue, per_second, body.delay)


def _filter(given: DeadLetterQuery | BatchReplayBody) -> DeadLetterFilter:
    return DeadLetterFilter(
        given.queue_name, given.script, given.error_type, given.reason, given.died_after, given.died_before
    )


def _wake_consumers(app_id: AppId, replayed: Sequence[Replayed]) -> None:
    of_queues = [(one, one.queue_name) for one in replayed if one.queue_name is not None]
    messages = [NewMessage(one.message_id, queue, "null") for one, queue in of_queues]
    node().sent(app_id, messages, [Sent(one.message_id, True, one.due_in) for one, _ in of_queues])
    if len(messages) < len(replayed):
        node().changed("outbox")


def _parse_dead_letter_id(text: str) -> DeadLetterId:
    return DeadLetterId(parse_id(text, DeadLetterNotFound, "dead letter"))
