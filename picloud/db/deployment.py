"""Bring an app to what its manifest says, in one transaction. Source: sql/deployment.sql."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.apps import get_app
from picloud.db.connection import Connection
from picloud.db.scripts import delete_script, hash_source, put_script
from picloud.db.sqlfile import load
from picloud.db.triggers import (
    QueueTriggerSettings,
    delete_trigger,
    insert_queue_trigger,
    list_queue_triggers,
    update_queue_trigger,
)
from picloud.errors import AppNotFound
from picloud.manifest import Manifest, QueueTriggerSpec, check_manifest
from picloud.types import App, Json, QueueTrigger, ScriptId

_sql = load("deployment")

Action = Literal["create", "update", "delete", "unchanged"]
Kind = Literal["app", "script", "trigger"]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that a deployment changes."""

    field: str
    old: Json
    new: Json


@dataclass(frozen=True, slots=True)
class DeploymentEntry:
    """What happens to one thing of the app. The name of a trigger is its queue."""

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
        scripts = await _list_versions(conn, app)
        triggers = {trigger.queue_name: trigger for trigger in await _list_triggers(conn, app)}
        entries = tuple(_plan(manifest, app is None or made, scripts, triggers))
        if app is not None and not dry_run:
            await _apply(conn, app, manifest, entries, scripts, triggers)
    return DeploymentDiff(manifest.app, dry_run, entries)


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


async def _list_triggers(conn: Connection, app: App | None) -> list[QueueTrigger]:
    return [] if app is None else await list_queue_triggers(conn, app_id=app.id)


def _plan(
    manifest: Manifest, new: bool, scripts: Mapping[str, StoredVersion], triggers: Mapping[str, QueueTrigger]
) -> Iterator[DeploymentEntry]:
    """Yield what is to happen, in the order in which it can: nothing is deleted while something needs it."""
    yield DeploymentEntry("create" if new else "unchanged", "app", manifest.app)
    for name, source in manifest.scripts.items():
        yield _plan_script(name, source, scripts.get(name))
    for queue in sorted(triggers.keys() - {spec.queue for spec in manifest.queue_triggers}):
        yield DeploymentEntry("delete", "trigger", queue)
    for spec in manifest.queue_triggers:
        yield _plan_trigger(spec, triggers.get(spec.queue))
    for name in sorted(scripts.keys() - manifest.scripts.keys()):
        yield DeploymentEntry("delete", "script", name)


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
    scripts: Mapping[str, StoredVersion],
    triggers: Mapping[str, QueueTrigger],
) -> None:
    ids = {name: script.id for name, script in scripts.items()}
    specs = {spec.queue: spec for spec in manifest.queue_triggers}
    for entry in entries:
        match entry.kind, entry.action:
            case "script", "create" | "update":
                stored = await put_script(conn, app.id, entry.name, manifest.scripts[entry.name])
                ids[entry.name] = stored.script.id
            case "script", "delete":
                await delete_script(conn, app.id, entry.name)
            case "trigger", "create":
                spec = specs[entry.name]
                await insert_queue_trigger(conn, app.id, spec.script, spec.queue, _settings(spec))
            case "trigger", "update":
                spec, trigger = specs[entry.name], triggers[entry.name]
                await update_queue_trigger(conn, app.id, trigger.id, _settings(spec), script_id=ids[spec.script])
            case "trigger", "delete":
                await delete_trigger(conn, app.id, triggers[entry.name].id)
