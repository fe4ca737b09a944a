"""Queues as a whole: /api/v1/apps/{app}/queues."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from quart import Blueprint, Response

from picloud.db.apps import get_app
from picloud.db.queues import get_depth, list_depths
from picloud.db.triggers import list_queue_triggers
from picloud.http.bodies import View
from picloud.http.node import node
from picloud.http.paging import PageQuery, make_page
from picloud.http.requests import read_query
from picloud.http.responses import respond
from picloud.http.triggers import TriggerView
from picloud.types import QueueDepth, QueueTrigger

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
    consumer: ConsumerView | None = None


class QueueDetailView(QueueView):
    """A queue with its trigger, and with the actor that consumes it on this node."""

    settings: TriggerView | None = None
    actor: dict[str, Any] | None = None


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
    detail = QueueDetailView.of(depth)
    for trigger in triggers:
        detail.consumer = _view_consumer(trigger)
        detail.settings = TriggerView.of(trigger)
        detail.actor = node().snapshot(f"/picloud/consumers/{app}/{queue}", 0)
    return respond(detail)


def _view_consumer(trigger: QueueTrigger) -> ConsumerView:
    return ConsumerView(trigger_id=trigger.id, script=trigger.script_name, enabled=trigger.enabled)
