"""Bring an app to what its manifest says, in one transaction. Source: sql/deployment.sql."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

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
from picloud.db.deployment_plan import (
    Action,
    DeploymentEntry,
    Kind,
    StoredApp,
    StoredVersion,
    plan_deployment,
    read_settings,
)
from picloud.db.email_triggers import list_email_triggers, put_email_trigger
from picloud.db.http_triggers import (
    HttpTrigger,
    insert_http_trigger,
    list_http_triggers,
    update_http_trigger,
)
from picloud.db.queue_rules import change_rules, list_rules
from picloud.db.queues import ensure_queue
from picloud.db.scripts import delete_script, put_script
from picloud.db.secrets import read_secrets, warn_of_secret
from picloud.db.sqlfile import load
from picloud.db.triggers import (
    delete_trigger,
    insert_queue_trigger,
    list_queue_triggers,
    update_queue_trigger,
)
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.errors import AppNotFound
from picloud.manifest import HttpTriggerSpec, Manifest, QueueTriggerSpec, check_manifest
from picloud.types import App, QueueTrigger, RecordPolicy, ScriptId

_sql = load("deployment")

T = TypeVar("T", CronTrigger, DeadLetterTrigger)


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
        entries = tuple(plan_deployment(manifest, app is None or made, stored))
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


async def _read_stored(conn: Connection, app: App | None, manifest: Manifest) -> StoredApp:
    if app is None:
        return StoredApp()
    return StoredApp(
        await _list_versions(conn, app),
        {trigger.queue_name: trigger for trigger in await list_queue_triggers(conn, app_id=app.id)},
        {f"{trigger.method} {trigger.path}": trigger for trigger in await list_http_triggers(conn, app.id)},
        tuple(await get_http_hosts(conn, app.id)),
        _name_all(await list_cron_triggers(conn, app.id)),
        RecordPolicy(app.record_executions, app.record_sample_rate),
        await list_rules(conn, app.id, [spec.name for spec in manifest.queues]),
        _name_all(await list_dead_letter_triggers(conn, app.id)),
        {trigger.address: trigger for trigger in await list_email_triggers(conn, app.id)},
    )


def _name_all(triggers: Sequence[T]) -> dict[str, T]:
    named: dict[str, T] = {}
    for trigger in triggers:
        name = trigger.spec.name
        # the API lets two be alike, a manifest does not: all but the first are not in it
        named[name if name not in named else f"{name} ({trigger.id})"] = trigger
    return named


async def _apply(
    conn: Connection,
    app: App,
    manifest: Manifest,
    entries: tuple[DeploymentEntry, ...],
    stored: StoredApp,
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
            case "trigger", action if name in manifest.addresses:
                if action != "unchanged":
                    await put_email_trigger(conn, app.id, manifest.addresses[name], stored.emails.get(name))
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
        await insert_queue_trigger(conn, app.id, spec.script, spec.queue, read_settings(spec))
    elif action == "update":
        await update_queue_trigger(conn, app.id, stored.id, read_settings(spec), script_id=ids[spec.script])


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
            conn,
            app.id,
            stored.id,
            script_id=ids[spec.script],
            method=spec.method,
            path=spec.path,
            enabled=spec.enabled,
            rules=spec.rules,
        )
