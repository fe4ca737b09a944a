"""Queues as a whole: /api/v1/apps/{app}/queues."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.dead_letters import purge_dead_letters
from picloud.db.messages import purge_messages
from picloud.db.queue_rules import change_rules, get_rules
from picloud.db.queues import get_depth, list_depths, pause_queue, resume_queue
from picloud.db.triggers import list_queue_triggers
from picloud.http.bodies import RequestBody, Time, View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import read_model, read_query
from picloud.http.responses import respond
from picloud.http.triggers import TriggerView
from picloud.manifest_queues import MAX_RETENTION_SECS
from picloud.types import QueueDepth, QueueTrigger

PURGE_BATCH = 10_000

blueprint = Blueprint("queues", __name__, url_prefix="/api/v1/apps/<app>/queues")


class ConsumerView(View):
    """What consumes a queue."""

    trigger_id: UUID
    script: str
    enabled: bool


class QueueView(View):
    """Exact, disjoint counts of one queue, and its consumer."""

    name: str
    ready: int
    delayed: int
    claimed: int
    dead: int
    oldest_ready_age_secs: float | None
    paused_at: Time | None
    consumer: ConsumerView | None = None


class RulesView(View):
    """What holds for a queue on all nodes together."""

    fifo: bool
    max_in_flight: int | None
    rate_per_second: float | None
    default_max_attempts: int | None
    message_retention_secs: int | None
    dead_retention_secs: int | None


class QueueDetailView(QueueView):
    """A queue with its trigger, and with the actor that consumes it on this node."""

    settings: TriggerView | None = None
    actor: dict[str, Any] | None = None
    rules: RulesView | None = None


@blueprint.get("")
async def index(app: str) -> Response:
    """List an app's queues by name."""
    query = read_query(PageQuery)
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        depths = await list_depths(conn, owner.id, after=query.after_name, limit=query.limit + 1)
        triggers = await list_queue_triggers(conn, app_id=owner.id)
    consumers = {trigger.queue_name: _view_consumer(trigger) for trigger in triggers}

    def view(depth: QueueDepth) -> QueueView:
        return QueueView.of(depth).model_copy(update={"consumer": consumers.get(depth.name)})

    return respond(make_page(depths, query, view, lambda depth: depth.name))


@blueprint.get("/<queue>")
async def show(app: str, queue: str) -> Response:
    """Return one queue with its consumer's settings and state."""
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        depth = await get_depth(conn, owner.id, queue)
        triggers = await list_queue_triggers(conn, app_id=owner.id, queue_name=queue)
        rules = await get_rules(conn, owner.id, queue)
    detail = QueueDetailView.of(depth)
    detail.rules = RulesView.of(rules)
    for trigger in triggers:
        detail.consumer = _view_consumer(trigger)
        detail.settings = TriggerView.of(trigger)
        detail.actor = node().snapshot(f"/picloud/consumers/{app}/{queue}", 0)
    return respond(detail)


class RulesBody(RequestBody):
    """What is to hold for a queue on all nodes together; what is left out keeps its value, null takes it away."""

    fifo: bool = False
    max_in_flight: int | None = Field(default=None, ge=1, le=100_000)
    rate_per_second: float | None = Field(default=None, gt=0, le=100_000)
    default_max_attempts: int | None = Field(default=None, ge=1, le=100)
    message_retention_secs: int | None = Field(default=None, ge=1, le=MAX_RETENTION_SECS)
    dead_retention_secs: int | None = Field(default=None, ge=1, le=MAX_RETENTION_SECS)


@blueprint.patch("/<queue>")
async def change(app: str, queue: str) -> Response:
    """Set the order, the most at once, the rate, the default attempts or the retention of a queue, for all nodes."""
    body = await read_model(RulesBody)
    async with node().pool.transaction() as conn:
        owner = await get_app(conn, app)
        rules = replace(await get_rules(conn, owner.id, queue), **body.model_dump(exclude_unset=True))
        await change_rules(conn, owner.id, queue, rules)
    node().changed("triggers")
    return respond(RulesView.of(rules))


class PurgeBody(RequestBody):
    """Which messages to drop: those nobody handles, or the dead letters."""

    state: Literal["ready", "delayed", "all", "dead"]


class PurgedView(View):
    """How many were dropped."""

    purged: int


@blueprint.post("/<queue>/pause")
async def pause(app: str, queue: str) -> Response:
    """Have no node claim messages of a queue; what runs is finished, and sending goes on."""
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await pause_queue(conn, owner.id, queue)
        return respond(QueueView.of(await get_depth(conn, owner.id, queue)))


@blueprint.post("/<queue>/resume")
async def resume(app: str, queue: str) -> Response:
    """End a pause."""
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await resume_queue(conn, owner.id, queue)
        depth = await get_depth(conn, owner.id, queue)
    node().wake(owner.id, queue)
    return respond(QueueView.of(depth))


@blueprint.post("/<queue>/purge")
async def purge(app: str, queue: str) -> Response:
    """Drop a queue's waiting messages, or its dead letters, for good."""
    body = await read_model(PurgeBody)
    purged = 0
    async with node().pool.connection() as conn:
        owner = await get_app(conn, app)
        await get_depth(conn, owner.id, queue)
        while True:
            # in batches: one statement over a million rows would hold its locks for long
            if body.state == "dead":
                batch = await purge_dead_letters(conn, owner.id, queue, PURGE_BATCH)
            else:
                batch = await purge_messages(conn, owner.id, queue, body.state, PURGE_BATCH)
            purged += batch
            if batch < PURGE_BATCH:
                return respond(PurgedView(purged=purged))


def _view_consumer(trigger: QueueTrigger) -> ConsumerView:
    return ConsumerView(trigger_id=trigger.id, script=trigger.script_name, enabled=trigger.enabled)
