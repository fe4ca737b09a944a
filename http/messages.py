"""Messages: send from outside, peek, drop. /api/v1/apps/{app}/queues/{queue}/messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any
from uuid import UUID

from psycopg.errors import ForeignKeyViolation
from pydantic import Field
from quart import Blueprint, Response
from uuid_utils.compat import uuid7

from picloud.db.apps import get_app
from picloud.db.connection import Connection
from picloud.db.messages import (
    Sent,
    StoredMessage,
    delete_message,
    get_message,
    insert_messages,
    list_messages,
    promote_message,
    requeue_message,
)
from picloud.errors import AppNotFound, Conflict, InvalidFields, InvalidPayload, MessageNotFound, PayloadTooLarge
from picloud.http.bodies import Delay, RequestBody, Text, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import parse_id, read_body, read_query, refuse_fields, validate
from picloud.http.responses import respond, respond_nothing
from picloud.http.tenants import app_ids
from picloud.names import check_queue_name
from picloud.payload import encode_payload
from picloud.types import AppId, FieldFault, Json, MessageId, MessageState, NewMessage

Move = Callable[[Connection, AppId, MessageId], Awaitable[bool]]

blueprint = Blueprint("messages", __name__, url_prefix="/api/v1/apps/<app>/queues/<queue>/messages")

MAX_BATCH = 10_000


class MessageBody(RequestBody):
    """A message to send."""

    payload: Any
    delay: Delay = 0.0
    priority: int = Field(default=0, ge=0, le=9)
    max_attempts: int | None = Field(default=None, ge=1, le=100)
    dedup_key: Text | None = Field(default=None, min_length=1, max_length=255)
    group_key: Text | None = Field(default=None, min_length=1, max_length=255)


class BatchBody(RequestBody):
    """Messages to send: all of them or none."""

    messages: list[MessageBody] = Field(min_length=1, max_length=MAX_BATCH)


class SentView(View):
    """What became of a message sent; where its dedup key was taken, the earlier message's id."""

    id: UUID
    is_new: bool


class BatchSentView(View):
    """What became of each message of a batch, in its order."""

    items: list[SentView]
    sent: int
    duplicates: int


class MessageView(View):
    """A message as an operator sees it."""

    id: UUID
    queue_name: str
    state: MessageState
    payload: Any
    attempt: int
    max_attempts: int
    priority: int
    dedup_key: str | None
    enqueued_at: Time
    deliver_after: Time
    claimed_at: Time | None


class MessageQuery(PageQuery):
    """Which messages to list."""

    state: MessageState | None = None


@dataclass(frozen=True, slots=True)
class Sending:
    """A request's messages, ready for the database."""

    messages: list[NewMessage]
    is_batch: bool


@blueprint.post("")
async def send(app: str, queue: str) -> Response:
    """Put one message or a batch into a queue."""
    check_queue_name(queue)
    sending = await read_body(partial(read_sending, queue=queue, max_bytes=node().max_payload_bytes))
    async with node().pool.connection() as conn:
        app_id, sent = await _insert(conn, app, sending)
    node().sent(app_id, sending.messages, sent)
    if sending.is_batch:
        new = sum(one.is_new for one in sent)
        body = BatchSentView(items=[SentView.of(one) for one in sent], sent=new, duplicates=len(sent) - new)
        return respond(body, HTTPStatus.CREATED)
    return respond(SentView.of(sent[0]), HTTPStatus.CREATED if sent[0].is_new else HTTPStatus.OK)


@blueprint.get("")
async def index(app: str, queue: str) -> Response:
    """List a queue's messages, oldest first, without claiming them."""
    query = read_query(MessageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        rows = await list_messages(
            conn, owner.id, queue, state=query.state, after=query.after_id, limit=query.limit + 1
        )
    return respond(make_page(rows, query, MessageView.of, lambda message: message.id))


@blueprint.get("/<message>")
async def show(app: str, queue: str, message: str) -> Response:
    """Return one message."""
    message_id = _parse_message_id(message)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        return respond(MessageView.of(await _get_of_queue(conn, owner.id, queue, message_id)))


@blueprint.delete("/<message>")
async def delete(app: str, queue: str, message: str) -> Response:
    """Drop a message that no handler holds."""
    message_id = _parse_message_id(message)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await _get_of_queue(conn, owner.id, queue, message_id)
        if not await delete_message(conn, owner.id, message_id):
            # claimed, or gone by now: then this raises MessageNotFound
            await _get_of_queue(conn, owner.id, queue, message_id)
            raise Conflict(f"message {message_id} is being handled: it can be deleted when it comes back")
    return respond_nothing()


@blueprint.post("/<message>/promote")
async def promote(app: str, queue: str, message: str) -> Response:
    """Make a delayed message due now."""
    return await _move(app, queue, message, promote_message, "it is not delayed")


@blueprint.post("/<message>/requeue")
async def requeue(app: str, queue: str, message: str) -> Response:
    """Take a message from the handler that holds it, whose effects are then dropped: it is ready again."""
    return await _move(app, queue, message, requeue_message, "no handler holds it")


async def _move(app: str, queue: str, message: str, move: Move, refusal: str) -> Response:
    message_id = _parse_message_id(message)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await _get_of_queue(conn, owner.id, queue, message_id)
        if not await move(conn, owner.id, message_id):
            # gone by now: then this raises MessageNotFound
            await _get_of_queue(conn, owner.id, queue, message_id)
            raise Conflict(f"message {message_id}: {refusal}")
        moved = await _get_of_queue(conn, owner.id, queue, message_id)
    node().wake(owner.id, queue)
    return respond(MessageView.of(moved))


def read_sending(raw: Json, *, queue: str, max_bytes: int) -> Sending:
    """Return the messages of a request's JSON.

    Raises: InvalidFields with a fault for each bad message of a batch; InvalidPayload or PayloadTooLarge for a bad
    payload of a single message.
    """
    if isinstance(raw, dict) and "messages" in raw:
        return Sending(_read_batch(raw, queue, max_bytes), is_batch=True)
    body = validate(MessageBody, raw)
    try:
        text = encode_payload(body.payload, max_bytes=max_bytes)
    except (InvalidPayload, PayloadTooLarge) as error:
        error.pointer = "/payload" + (error.pointer or "")
        raise
    return Sending([_make_message(body, text, queue)], is_batch=False)


def _read_batch(raw: dict[str, Json], queue: str, max_bytes: int) -> list[NewMessage]:
    faults: list[FieldFault] = []
    bodies: list[MessageBody] = []
    try:
        bodies = validate(BatchBody, raw).messages
    except InvalidFields as error:
        # the payloads are looked at all the same: one answer is to name every fault
        faults.extend(error.faults)
    entries = raw["messages"] if isinstance(raw["messages"], list) else []
    texts = [_encode_entry(entry, at, faults, max_bytes) for at, entry in enumerate(entries[:MAX_BATCH])]
    if faults:
        refuse_fields(faults)
    return [_make_message(body, text, queue) for body, text in zip(bodies, texts, strict=True)]


def _encode_entry(entry: Json, at: int, faults: list[FieldFault], max_bytes: int) -> str:
    if not isinstance(entry, dict) or "payload" not in entry:
        return ""
    try:
        return encode_payload(entry["payload"], max_bytes=max_bytes)
    except (InvalidPayload, PayloadTooLarge) as error:
        faults.append(FieldFault(str(error), f"/messages/{at}/payload{error.pointer or ''}"))
        return ""


def _make_message(body: MessageBody, payload: str, queue: str) -> NewMessage:
    return NewMessage(
        id=MessageId(uuid7()),
        queue_name=queue,
        payload=payload,
        delay=body.delay,
        priority=body.priority,
        max_attempts=body.max_attempts,
        dedup_key=body.dedup_key,
        group_key=body.group_key,
    )


async def _insert(conn: Connection, app: str, sending: Sending) -> tuple[AppId, list[Sent]]:
    app_id = await app_ids().find(conn, app)
    try:
        return app_id, await insert_messages(conn, app_id, sending.messages)
    except ForeignKeyViolation:
        # deleted since its id was remembered; an app of that name may have been made anew
        app_ids().forget(app)
        raise AppNotFound(f"no app '{app}'") from None


async def _get_of_queue(conn: Connection, app_id: AppId, queue: str, message_id: MessageId) -> StoredMessage:
    message = await get_message(conn, app_id, message_id)
    if message.queue_name != queue:
        raise MessageNotFound(f"no message {message_id} in queue '{queue}'")
    return message


def _parse_message_id(text: str) -> MessageId:
    return MessageId(parse_id(text, MessageNotFound, "message"))
