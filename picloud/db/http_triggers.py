"""HTTP triggers: which script answers which method and path of an app. Source: sql/triggers.sql."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from psycopg import errors
from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.scripts import get_script
from picloud.db.sqlfile import load
from picloud.errors import InvalidInput, RouteTaken, TriggerNotFound
from picloud.route_rules import NO_RULES, RouteRules, read_rules
from picloud.routes import METHODS, parse_pattern
from picloud.types import AppId, ScriptId, TriggerId

_sql = load("triggers")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpTrigger:
    """Binds a script to a method and path."""

    id: TriggerId
    app_id: AppId
    script_id: ScriptId
    script_name: str
    method: str
    path: str
    enabled: bool
    rules: RouteRules
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class StoredRoute:
    """An enabled HTTP trigger as a node serves it."""

    app_name: str
    app_id: AppId
    trigger_id: TriggerId
    script_name: str
    method: str
    path: str
    rules: RouteRules = NO_RULES


async def insert_http_trigger(
    conn: Connection,
    app_id: AppId,
    script_name: str,
    method: str,
    path: str,
    *,
    enabled: bool = True,
    rules: RouteRules = NO_RULES,
) -> HttpTrigger:
    """Bind a script to a method and path.

    Raises: ScriptNotFound, InvalidInput (the method or the path), RouteTaken that names the trigger.
    """
    route = _read_route(method, path)
    script = await get_script(conn, app_id, script_name)
    trigger_id = TriggerId(uuid7())
    values = {"id": trigger_id, "script_id": script.id, "enabled": enabled, "rules": Jsonb(rules.to_json())}
    await _write(conn, _sql.insert_http_trigger, app_id, route, values)
    return await get_http_trigger(conn, app_id, trigger_id)


async def update_http_trigger(
    conn: Connection,
    app_id: AppId,
    trigger_id: TriggerId,
    *,
    script_id: ScriptId,
    method: str,
    path: str,
    enabled: bool,
    rules: RouteRules,
) -> HttpTrigger:
    """Have another script answer, or none, or elsewhere, or by other rules.

    Raises: TriggerNotFound, InvalidInput (the method or the path), RouteTaken that names the trigger.
    """
    values = {"id": trigger_id, "script_id": script_id, "enabled": enabled, "rules": Jsonb(rules.to_json())}
    await _write(conn, _sql.update_http_trigger, app_id, _read_route(method, path), values)
    return await get_http_trigger(conn, app_id, trigger_id)


async def list_http_triggers(
    conn: Connection, app_id: AppId, *, after: UUID | None = None, limit: int | None = None
) -> list[HttpTrigger]:
    """Return an app's HTTP triggers in the order they were made."""
    return await _select(conn, app_id, after=after, limit=limit)


async def get_http_trigger(conn: Connection, app_id: AppId, trigger_id: TriggerId) -> HttpTrigger:
    """Return one trigger. Raises: TriggerNotFound."""
    for trigger in await _select(conn, app_id, trigger_id=trigger_id, limit=1):
        return trigger
    raise TriggerNotFound(f"no HTTP trigger {trigger_id}")


async def list_routes(conn: Connection) -> list[StoredRoute]:
    """Return the enabled routes of all apps."""
    async with conn.cursor(row_factory=kwargs_row(_with_rules(StoredRoute))) as cur:
        await cur.execute(_sql.list_routes)
        return await cur.fetchall()


def _read_route(method: str, path: str) -> dict[str, str]:
    if method not in METHODS:
        raise InvalidInput(f"route: unknown method {method[:20]!r} (use one of {', '.join(METHODS)})")
    return {"method": method, "path": path, "pattern": parse_pattern(path).key}


async def _write(
    conn: Connection, statement: Any, app_id: AppId, route: Mapping[str, str], values: Mapping[str, Any]
) -> None:
    try:
        async with conn.transaction():
            await conn.execute(statement, {**values, **route, "app_id": app_id})
    except errors.UniqueViolation as error:
        for other in await _select(conn, app_id, method=route["method"], pattern=route["pattern"], limit=1):
            raise RouteTaken(
                f"{other.method} {other.path} is taken: trigger {other.id} runs script '{other.script_name}'; "
                "change or delete that trigger first"
            ) from error
        raise


async def _select(
    conn: Connection,
    app_id: AppId,
    *,
    after: UUID | None = None,
    trigger_id: TriggerId | None = None,
    method: str | None = None,
    pattern: str | None = None,
    limit: int | None = None,
) -> list[HttpTrigger]:
    async with conn.cursor(row_factory=kwargs_row(_with_rules(HttpTrigger))) as cur:
        await cur.execute(
            _sql.list_http_triggers,
            {
                "app_id": app_id,
                "after": after,
                "id": trigger_id,
                "method": method,
                "pattern": pattern,
                "limit": limit,
            },
        )
        return await cur.fetchall()


def _with_rules(kind: Callable[..., T]) -> Callable[..., T]:
    def make(*, rules: dict[str, Any], **values: Any) -> T:
        return kind(rules=read_rules(rules), **values)

    return make
