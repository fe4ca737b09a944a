"""An app folder as one request: POST /api/v1/apps/{app}/deploy."""

from __future__ import annotations

from functools import partial
from typing import Any

import trio
from pydantic import Field
from quart import Blueprint, Response

from picloud.cron_spec import CronTriggerSpec
from picloud.db.deployment import DeploymentDiff, apply_deployment
from picloud.db.deployment_plan import Action, Kind
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.http.bodies import RequestBody, Text, View
from picloud.http.cron_triggers import CronSettingsBody
from picloud.http.dead_letter_triggers import DeadLetterSettingsBody
from picloud.http.email_triggers import NewEmailTriggerBody
from picloud.http.node import node
from picloud.http.queues import RulesBody
from picloud.http.requests import read_model
from picloud.http.responses import respond
from picloud.http.triggers import SettingsBody
from picloud.mail_spec import EmailTriggerSpec
from picloud.manifest import HttpTriggerSpec, Manifest, QueueTriggerSpec, check_manifest, check_scripts
from picloud.manifest_queues import QueueSpec
from picloud.names import check_app_name
from picloud.route_rules import RouteRules
from picloud.types import RecordMode

blueprint = Blueprint("deployment", __name__, url_prefix="/api/v1/apps/<app>/deploy")


class DeployedTriggerBody(SettingsBody):
    """A script that consumes a queue."""

    queue: Text
    script: Text


class DeployedRouteBody(RouteRules):
    """A script that answers a method and path."""

    method: Text = "POST"
    path: Text
    script: Text
    enabled: bool = True


class DeployedCronBody(CronSettingsBody):
    """A script that runs, or a queue that gets a message, at the times of a schedule."""

    schedule: Text
    queue: Text | None = None


class DeployedQueueBody(RulesBody):
    """Settings of a queue: what is left out has its default."""

    name: Text


class DeployedDeadLetterBody(DeadLetterSettingsBody):
    """A script that hears of new dead letters."""

    queue: Text | None = None


class DeployedTriggersBody(RequestBody):
    """All triggers of an app, by kind."""

    cron: list[DeployedCronBody] = Field(default_factory=list, max_length=10_000)

    dead_letter: list[DeployedDeadLetterBody] = Field(default_factory=list, max_length=10_000)
    email: list[NewEmailTriggerBody] = Field(default_factory=list, max_length=10_000)

    http: list[DeployedRouteBody] = Field(default_factory=list, max_length=10_000)

    queue: list[DeployedTriggerBody] = Field(default_factory=list, max_length=10_000)


class DeploymentBody(RequestBody):
    """What an app is to consist of; `dry_run` only says what would change."""

    scripts: dict[Text, Text]
    triggers: DeployedTriggersBody = Field(default_factory=DeployedTriggersBody)
    queues: list[DeployedQueueBody] = Field(default_factory=list, max_length=10_000)
    http_hosts: list[Text] = Field(default_factory=list, max_length=1000)
    record_executions: RecordMode | None = None
    """None: as it is."""
    record_sample_rate: float | None = None
    dry_run: bool = False


class ChangeView(View):
    """One field that a deployment changes."""

    field: str
    old: Any
    new: Any


class EntryView(View):
    """What happens to one thing of the app; a trigger is named by its queue, method and path, schedule, or address."""

    action: Action
    kind: Kind
    name: str
    changes: list[ChangeView]


class DiffView(View):
    """What a deployment did, or would do."""

    app: str
    dry_run: bool
    changed: bool
    entries: list[EntryView]
    warnings: list[str]


@blueprint.post("")
async def deploy(app: str) -> Response:
    """Bring an app to what the request says: what is not in it is deleted, messages stay."""
    check_app_name(app)
    body = await read_model(DeploymentBody)
    manifest = _manifest(app, body)
    check_manifest(manifest)
    await trio.to_thread.run_sync(partial(check_scripts, manifest, node().compile_script), abandon_on_cancel=True)
    async with node().pool.connection() as conn:
        diff = await apply_deployment(conn, manifest, dry_run=body.dry_run)
    if not body.dry_run:
        _announce(diff)
    return respond(DiffView.of(diff))


def _announce(diff: DeploymentDiff) -> None:
    if diff.has_changed("script"):
        node().changed("scripts")
    if any(diff.has_changed(kind) for kind in ("app", "trigger", "queue")):
        node().changed("triggers")


def _manifest(app: str, body: DeploymentBody) -> Manifest:
    specs = [
        QueueTriggerSpec(
            trigger.queue, trigger.script, trigger.model_dump(exclude_unset=True, exclude={"queue", "script"})
        )
        for trigger in body.triggers.queue
    ]
    routes = [
        HttpTriggerSpec(route.method, route.path, route.script, route.enabled, route.rules())
        for route in body.triggers.http
    ]
    crons = [
        CronTriggerSpec(queue_name=cron.queue, **cron.model_dump(exclude={"queue"})) for cron in body.triggers.cron
    ]
    queues = [QueueSpec(queue.name, queue.model_dump(exclude_unset=True, exclude={"name"})) for queue in body.queues]
    dead_letters = [
        DeadLetterTriggerSpec(queue_name=trigger.queue, **trigger.model_dump(exclude={"queue"}))
        for trigger in body.triggers.dead_letter
    ]
    return Manifest(
        app,
        body.scripts,
        tuple(specs),
        tuple(routes),
        tuple(body.http_hosts),
        cron_triggers=tuple(crons),
        record_executions=body.record_executions,
        record_sample_rate=body.record_sample_rate,
        queues=tuple(queues),
        dead_letter_triggers=tuple(dead_letters),
        email_triggers=tuple(EmailTriggerSpec(**email.model_dump()) for email in body.triggers.email),
    )
