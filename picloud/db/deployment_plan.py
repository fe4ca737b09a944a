"""What a deployment is to do: what an app's manifest says against what the app consists of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar

from picloud.cron_spec import CronTriggerSpec
from picloud.db.cron import CronTrigger
from picloud.db.dead_letter_triggers import DeadLetterTrigger
from picloud.db.email_triggers import EmailTrigger
from picloud.db.http_triggers import HttpTrigger
from picloud.db.scripts import hash_source
from picloud.db.triggers import QueueTriggerSettings
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.mail_spec import EmailTriggerSpec
from picloud.manifest import HttpTriggerSpec, Manifest, QueueTriggerSpec
from picloud.manifest_queues import QueueSpec
from picloud.types import Json, QueueRules, QueueTrigger, RecordPolicy, ScriptId, TriggerId

Spec = TypeVar("Spec", CronTriggerSpec, DeadLetterTriggerSpec, EmailTriggerSpec)
_CRON_KEY = frozenset({"schedule", "timezone", "script", "queue_name"})
_EMAIL_KEY = frozenset({"name"})
_DEAD_LETTER_KEY = frozenset({"script", "source", "queue_name"})

Action = Literal["create", "update", "delete", "unchanged"]
Kind = Literal["app", "script", "trigger", "queue"]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that a deployment changes."""

    field: str
    old: Json
    new: Json


@dataclass(frozen=True, slots=True)
class DeploymentEntry:
    """What happens to one thing of the app.

    A trigger is named by its queue, its method and path, its schedule, its address, or the dead letters it hears of.
    """

    action: Action
    kind: Kind
    name: str
    changes: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A script as it is deployed, without its source."""

    name: str
    id: ScriptId
    version: int
    source_sha256: str


@dataclass(frozen=True, slots=True)
class StoredApp:
    """What the app consists of now, by name."""

    scripts: Mapping[str, StoredVersion] = field(default_factory=dict)
    queues: Mapping[str, QueueTrigger] = field(default_factory=dict)
    routes: Mapping[str, HttpTrigger] = field(default_factory=dict)
    http_hosts: tuple[str, ...] = ()
    crons: Mapping[str, CronTrigger] = field(default_factory=dict)
    recording: RecordPolicy = field(default_factory=RecordPolicy)
    rules: Mapping[str, QueueRules] = field(default_factory=dict)
    """Of the manifest's queues."""
    dead_letters: Mapping[str, DeadLetterTrigger] = field(default_factory=dict)

    emails: Mapping[str, EmailTrigger] = field(default_factory=dict)
    """By address."""

    def find_trigger(self, name: str) -> TriggerId:
        """Return the id of the trigger of that name."""
        kinds = (self.queues, self.routes, self.crons, self.dead_letters, self.emails)
        return next(kind[name].id for kind in kinds if name in kind)


def plan_deployment(manifest: Manifest, new: bool, stored: StoredApp) -> Iterator[DeploymentEntry]:
    """Yield what is to happen, in the order in which it can: nothing is deleted while something needs it."""
    yield _plan_app(manifest, new, stored)
    for name, source in manifest.scripts.items():
        yield _plan_script(name, source, stored.scripts.get(name))
    queues = {spec.queue for spec in manifest.queue_triggers}
    routes = {spec.name for spec in manifest.http_triggers}
    crons = {spec.name for spec in manifest.cron_triggers}
    dead_letters = {spec.name for spec in manifest.dead_letter_triggers}
    gone = (
        stored.queues.keys() - queues,
        stored.routes.keys() - routes,
        stored.crons.keys() - crons,
        stored.dead_letters.keys() - dead_letters,
        stored.emails.keys() - manifest.addresses.keys(),
    )
    for name in [name for names in gone for name in sorted(names)]:
        yield DeploymentEntry("delete", "trigger", name)
    for queue in manifest.queue_triggers:
        yield _plan_trigger(queue, stored.queues.get(queue.queue))
    for route in manifest.http_triggers:
        yield _plan_route(route, stored.routes.get(route.name))
    for cron in manifest.cron_triggers:
        yield _plan_spec(cron, CronTriggerSpec(cron.schedule), stored.crons.get(cron.name), _CRON_KEY)
    for dead_letter in manifest.dead_letter_triggers:
        default = DeadLetterTriggerSpec(dead_letter.script)
        yield _plan_spec(dead_letter, default, stored.dead_letters.get(dead_letter.name), _DEAD_LETTER_KEY)
    for address, email in manifest.addresses.items():
        blank = EmailTriggerSpec(email.name, "")
        yield _plan_spec(email, blank, stored.emails.get(address), _EMAIL_KEY, name=address)
    for spec in manifest.queues:
        yield _plan_queue(spec, stored.rules.get(spec.name))
    for name in sorted(stored.scripts.keys() - manifest.scripts.keys()):
        yield DeploymentEntry("delete", "script", name)


def _plan_app(manifest: Manifest, new: bool, stored: StoredApp) -> DeploymentEntry:
    old, wanted = list(stored.http_hosts), list(manifest.http_hosts)
    changes = [FieldChange("http_hosts", old or None, wanted)] if old != wanted else []
    for name, kept, asked in (
        ("record_executions", stored.recording.mode, manifest.record_executions),
        ("record_sample_rate", stored.recording.sample_rate, manifest.record_sample_rate),
    ):
        if asked is not None and asked != kept:
            changes.append(FieldChange(name, kept, asked))
    action: Action = "create" if new else "update" if changes else "unchanged"
    return DeploymentEntry(action, "app", manifest.app, tuple(changes))


def _plan_route(spec: HttpTriggerSpec, stored: HttpTrigger | None) -> DeploymentEntry:
    wanted = {"script": spec.script, "enabled": spec.enabled, **spec.rules.to_json()}
    if stored is None:
        changes = tuple(FieldChange(name, None, value) for name, value in wanted.items() if name != "enabled")
        return DeploymentEntry("create", "trigger", spec.name, changes)
    current = {"script": stored.script_name, "enabled": stored.enabled, **stored.rules.to_json()}
    changes = tuple(
        FieldChange(name, current.get(name), wanted.get(name))
        for name in {**current, **wanted}
        if current.get(name) != wanted.get(name)
    )
    return DeploymentEntry("update" if changes else "unchanged", "trigger", spec.name, changes)


def _plan_queue(spec: QueueSpec, stored: QueueRules | None) -> DeploymentEntry:
    old, wanted = asdict(stored or QueueRules()), asdict(spec.rules)
    changes = tuple(
        FieldChange(name, None if stored is None else old[name], value)
        for name, value in wanted.items()
        if value != old[name]
    )
    action: Action = "create" if stored is None else "update" if changes else "unchanged"
    return DeploymentEntry(action, "queue", spec.name, changes)


def _plan_spec(
    spec: Spec,
    default: Spec,
    stored: CronTrigger | DeadLetterTrigger | EmailTrigger | None,
    key: frozenset[str],
    *,
    name: str | None = None,
) -> DeploymentEntry:
    # what triggers are told apart by, they have from the start
    shown = [field.name for field in fields(spec) if field.name not in key]
    old = default if stored is None else stored.spec
    changes = tuple(
        FieldChange(one, None if stored is None else getattr(old, one), getattr(spec, one))
        for one in shown
        if getattr(old, one) != getattr(spec, one)
    )
    action: Action = "create" if stored is None else "update" if changes else "unchanged"
    return DeploymentEntry(action, "trigger", name or spec.name, changes)


def _plan_script(name: str, source: str, stored: StoredVersion | None) -> DeploymentEntry:
    if stored is None:
        return DeploymentEntry("create", "script", name)
    if stored.source_sha256 == hash_source(source):
        return DeploymentEntry("unchanged", "script", name)
    change = FieldChange("version", stored.version, stored.version + 1)
    return DeploymentEntry("update", "script", name, (change,))


def _plan_trigger(spec: QueueTriggerSpec, stored: QueueTrigger | None) -> DeploymentEntry:
    wanted = {"script": spec.script, **asdict(read_settings(spec))}
    if stored is None:
        changes = tuple(FieldChange(name, None, wanted[name]) for name in ("script", *spec.settings))
        return DeploymentEntry("create", "trigger", spec.queue, changes)
    current = {name: getattr(stored, "script_name" if name == "script" else name) for name in wanted}
    changes = tuple(FieldChange(name, current[name], value) for name, value in wanted.items() if value != current[name])
    return DeploymentEntry("update" if changes else "unchanged", "trigger", spec.queue, changes)


def read_settings(spec: QueueTriggerSpec) -> QueueTriggerSettings:
    """Return the settings of a queue's trigger, with the defaults of those that were not written."""
    values: dict[str, Any] = dict(spec.settings)
    return QueueTriggerSettings(**values)
