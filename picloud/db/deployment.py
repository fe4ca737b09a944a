"""Bring an app to what its manifest says, in one transaction. Source: sql/deployment.sql."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar

from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.cron_spec import CronTriggerSpec
from picloud.db.apps import get_app, get_http_hosts, set_http_hosts, update_app
from picloud.db.connection import Connection
from picloud.db.cron import CronTrigger, insert_cron_trigger, list_cron_triggers, update_cron_trigger
from picloud.db.dead_letter_triggers import (
    DeadLetterTrigger,
    insert_dead_letter_trigger,
    list_dead_letter_triggers,
    update_dead_letter_trigger,
)
from picloud.db.http_triggers import (
    HttpTrigger,
    insert_http_trigger,
    list_http_triggers,
    update_http_trigger,
)
from picloud.db.queue_rules import change_rules, list_rules
from picloud.db.queues import ensure_queue
from picloud.db.scripts import delete_script, hash_source, put_script
from picloud.db.secrets import read_secrets, warn_of_secret
from picloud.db.sqlfile import load
from picloud.db.triggers import (
    QueueTriggerSettings,
    delete_trigger,
    insert_queue_trigger,
    list_queue_triggers,
    update_queue_trigger,
)
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.errors import AppNotFound
from picloud.manifest import HttpTriggerSpec, Manifest, QueueTriggerSpec, check_manifest
from picloud.manifest_queues import QueueSpec
from picloud.types import App, Json, QueueRules, QueueTrigger, RecordPolicy, ScriptId, TriggerId

_sql = load("deployment")

Spec = TypeVar("Spec", CronTriggerSpec, DeadLetterTriggerSpec)
T = TypeVar("T", CronTrigger, DeadLetterTrigger)
_CRON_KEY = frozenset({"schedule", "timezone", "script", "queue_name"})
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

    A trigger is named by its queue, its method and path, its schedule, or the dead letters it hears of.
    """

    action: Action
    kind: Kind
    name: str
    changes: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True)
class DeploymentDiff:
    """What a deployment did, or would do."""

    app: str
    dry_run: bool
    entries: tuple[DeploymentEntry, ...]
    warnings: tuple[str, ...] = ()
    """What will not work yet, though it is stored."""

    @property
    def changed(self) -> bool:
        """Tell whether anything differs from what was there."""
        return any(entry.action != "unchanged" for entry in self.entries)

    def has_changed(self, kind: Kind) -> bool:
        """Tell whether anything of that kind differs from what was there."""
        return any(entry.action != "unchanged" for entry in self.entries if entry.kind == kind)


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A script as it is deployed, without its source."""

    name: str
    id: ScriptId
    version: int
    source_sha256: str


async def apply_deployment(conn: Connection, manifest: Manifest, *, dry_run: bool = False) -> DeploymentDiff:
    """Make the app what `manifest` says: what is equal stays untouched, what is not in it goes; messages stay.

    The caller has compiled the scripts. With `dry_run` nothing is written.
    Atomic: one transaction; two deployments of one app wait for each other.
    Raises: InvalidManifest, QueueHasConsumer, ScriptInUse.
    """
    check_manifest(manifest)
    async with conn.transaction():
        if dry_run:
            app, made = await _find_app(conn, manifest.app), False
        else:
            app, made = await _lock_app(conn, manifest.app)
        stored = await _read_stored(conn, app, manifest)
        entries = tuple(_plan(manifest, app is None or made, stored))
        if app is not None and not dry_run:
            await _apply(conn, app, manifest, entries, stored)
        warnings = await _warn(conn, app, manifest)
    return DeploymentDiff(manifest.app, dry_run, entries, warnings)


async def _warn(conn: Connection, app: App | None, manifest: Manifest) -> tuple[str, ...]:
    wanted = sorted({name for route in manifest.http_triggers for name in route.rules.secrets})
    known = await read_secrets(conn, app.id, wanted) if wanted and app is not None else {}
    return tuple(warn_of_secret(manifest.app, name) for name in wanted if name not in known)


async def _find_app(conn: Connection, name: str) -> App | None:
    try:
        return await get_app(conn, name)
    except AppNotFound:
        return None


async def _lock_app(conn: Connection, name: str) -> tuple[App, bool]:
    """Return the app, made if need be and locked until the transaction ends, and whether it was made."""
    while True:
        for statement, made in ((_sql.lock_app, False), (_sql.ensure_app, True)):
            async with conn.cursor(row_factory=class_row(App)) as cur:
                await cur.execute(statement, {"id": uuid7(), "name": name})
                app = await cur.fetchone()
            if app is not None:
                return app, made
        # neither there nor made: another deployment made it between the two statements


async def _list_versions(conn: Connection, app: App | None) -> dict[str, StoredVersion]:
    if app is None:
        return {}
    async with conn.cursor(row_factory=class_row(StoredVersion)) as cur:
        await cur.execute(_sql.list_script_versions, {"app_id": app.id})
        return {script.name: script for script in await cur.fetchall()}


@dataclass(frozen=True, slots=True)
class _Stored:
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

    def find_trigger(self, name: str) -> TriggerId:
        """Return the id of the trigger of that name."""
        found = self.queues.get(name) or self.routes.get(name) or self.crons.get(name) or self.dead_letters[name]
        return found.id


async def _read_stored(conn: Connection, app: App | None, manifest: Manifest) -> _Stored:
    if app is None:
        return _Stored()
    return _Stored(
        await _list_versions(conn, app),
        {trigger.queue_name: trigger for trigger in await list_queue_triggers(conn, app_id=app.id)},
        {f"{trigger.method} {trigger.path}": trigger for trigger in await list_http_triggers(conn, app.id)},
        tuple(await get_http_hosts(conn, app.id)),
        _name_all(await list_cron_triggers(conn, app.id)),
        RecordPolicy(app.record_executions, app.record_sample_rate),
        await list_rules(conn, app.id, [spec.name for spec in manifest.queues]),
        _name_all(await list_dead_letter_triggers(conn, app.id)),
    )


def _name_all(triggers: Sequence[T]) -> dict[str, T]:
    named: dict[str, T] = {}
    for trigger in triggers:
        name = trigger.spec.name
        # the API lets two be alike, a manifest does not: all but the first are not in it
        named[name if name not in named else f"{name} ({trigger.id})"] = trigger
    return named


def _plan(manifest: Manifest, new: bool, stored: _Stored) -> Iterator[DeploymentEntry]:
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
    for spec in manifest.queues:
        yield _plan_queue(spec, stored.rules.get(spec.name))
    for name in sorted(stored.scripts.keys() - manifest.scripts.keys()):
        yield DeploymentEntry("delete", "script", name)


def _plan_app(manifest: Manifest, new: bool, stored: _Stored) -> DeploymentEntry:
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
    spec: Spec, default: Spec, stored: CronTrigger | DeadLetterTrigger | None, key: frozenset[str]
) -> DeploymentEntry:
    # what triggers are told apart by, they have from the start
    shown = [field.name for field in fields(spec) if field.name not in key]
    old = default if stored is None else stored.spec
    changes = tuple(
        FieldChange(name, None if stored is None else getattr(old, name), getattr(spec, name))
        for name in shown
        if getattr(old, name) != getattr(spec, name)
    )
    action: Action = "create" if stored is None else "update" if changes else "unchanged"
    return DeploymentEntry(action, "trigger", spec.name, changes)


def _plan_script(name: str, source: str, stored: StoredVersion | None) -> DeploymentEntry:
    if stored is None:
        return DeploymentEntry("create", "script", name)
    if stored.source_sha256 == hash_source(source):
        return DeploymentEntry("unchanged", "script", name)
    change = FieldChange("version", stored.version, stored.version + 1)
    return DeploymentEntry("update", "script", name, (change,))


def _plan_trigger(spec: QueueTriggerSpec, stored: QueueTrigger | None) -> DeploymentEntry:
    wanted = {"script": spec.script, **asdict(_settings(spec))}
    if stored is None:
        changes = tuple(FieldChange(name, None, wanted[name]) for name in ("script", *spec.settings))
        return DeploymentEntry("create", "trigger", spec.queue, changes)
    current = {name: getattr(stored, "script_name" if name == "script" else name) for name in wanted}
    changes = tuple(FieldChange(name, current[name], value) for name, value in wanted.items() if value != current[name])
    return DeploymentEntry("update" if changes else "unchanged", "trigger", spec.queue, changes)


def _settings(spec: QueueTriggerSpec) -> QueueTriggerSettings:
    values: dict[str, Any] = dict(spec.settings)
    return QueueTriggerSettings(**values)


async def _apply(
    conn: Connection,
    app: App,
    manifest: Manifest,
    entries: tuple[DeploymentEntry, ...],
    stored: _Stored,
) -> None:
    ids = {name: script.id for name, script in stored.scripts.items()}
    queues = {spec.queue: spec for spec in manifest.queue_triggers}
    routes = {spec.name: spec for spec in manifest.http_triggers}
    crons = {spec.name: spec for spec in manifest.cron_triggers}
    rules = {spec.name: spec.rules for spec in manifest.queues}
    dead_letters = {spec.name: spec for spec in manifest.dead_letter_triggers}
    for entry in entries:
        name = entry.name
        match entry.kind, entry.action:
            case "app", "create" | "update":
                await set_http_hosts(conn, app.id, manifest.http_hosts)
                await update_app(
                    conn,
                    app.name,
                    record_executions=manifest.record_executions,
                    record_sample_rate=manifest.record_sample_rate,
                )
            case "script", "create" | "update":
                ids[name] = (await put_script(conn, app.id, name, manifest.scripts[name])).script.id
            case "script", "delete":
                await delete_script(conn, app.id, name)
            case "queue", "create" | "update":
                await ensure_queue(conn, app.id, name)
                await change_rules(conn, app.id, name, rules[name])
            case "trigger", "delete":
                await delete_trigger(conn, app.id, stored.find_trigger(name))
            case "trigger", action if name in queues:
                await _apply_queue(conn, app, action, queues[name], stored.queues.get(name), ids)
            case "trigger", action if name in crons:
                await _apply_cron(conn, app, action, crons[name], stored.crons.get(name))
            case "trigger", action if name in dead_letters:
                await _apply_dead_letter(conn, app, action, dead_letters[name], stored.dead_letters.get(name))
            case "trigger", action:
                await _apply_route(conn, app, action, routes[name], stored.routes.get(name), ids)


async def _apply_queue(
    conn: Connection,
    app: App,
    action: Action,
    spec: QueueTriggerSpec,
    stored: QueueTrigger | None,
    ids: Mapping[str, ScriptId],
) -> None:
    if stored is None:
        await insert_queue_trigger(conn, app.id, spec.script, spec.queue, _settings(spec))
    elif action == "update":
        await update_queue_trigger(conn, app.id, stored.id, _settings(spec), script_id=ids[spec.script])


async def _apply_cron(
    conn: Connection, app: App, action: Action, spec: CronTriggerSpec, stored: CronTrigger | None
) -> None:
    if stored is None:
        await insert_cron_trigger(conn, app.id, spec)
    elif action == "update":
        await update_cron_trigger(conn, app.id, stored.id, spec)


async def _apply_dead_letter(
    conn: Connection, app: App, action: Action, spec: DeadLetterTriggerSpec, stored: DeadLetterTrigger | None
) -> None:
    if stored is None:
        await insert_dead_letter_trigger(conn, app.id, spec)
    elif action == "update":
        await update_dead_letter_trigger(conn, app.id, stored.id, spec)


async def _apply_route(
    conn: Connection,
    app: App,
    action: Action,
    spec: HttpTriggerSpec,
    stored: HttpTrigger | None,
    ids: Mapping[str, ScriptId],
) -> None:
    if stored is None:
        await insert_http_trigger(
            conn, app.id, spec.script, spec.method, spec.path, enabled=spec.enabled, rules=spec.rules
        )
    elif action == "update":
        await update_http_trigger(
            conn, app.id, stored.id, script_id=ids[spec.script], enabled=spec.enabled, rules=spec.rules
        )
