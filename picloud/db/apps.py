"""Apps. Source: sql/apps.sql."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import errors
from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import AppNotFound, NameTaken
from picloud.names import check_app_name
from picloud.types import App, AppId, RecordMode

_sql = load("apps")


async def insert_app(conn: Connection, name: str) -> App:
    """Make an app. Raises: InvalidName, NameTaken."""
    check_app_name(name)
    try:
        async with conn.cursor(row_factory=class_row(App)) as cur:
            await cur.execute(_sql.insert_app, {"id": uuid7(), "name": name})
            app = await cur.fetchone()
    except errors.UniqueViolation as error:
        raise NameTaken(f"app '{name}' exists already") from error
    assert app is not None
    return app


async def get_app(conn: Connection, name: str) -> App:
    """Return the app of that name. Raises: AppNotFound."""
    async with conn.cursor(row_factory=class_row(App)) as cur:
        await cur.execute(_sql.get_app, {"name": name})
        app = await cur.fetchone()
    if app is None:
        raise AppNotFound(f"no app '{name}'")
    return app


async def set_http_hosts(conn: Connection, app_id: AppId, hosts: Sequence[str]) -> bool:
    """Set the hosts that an app's scripts may send requests to; return whether that is a change."""
    cur = await conn.execute(_sql.set_http_hosts, {"app_id": app_id, "hosts": list(hosts)})
    return cur.rowcount == 1


async def get_http_hosts(conn: Connection, app_id: AppId) -> list[str]:
    """Return the hosts that an app's scripts may send requests to."""
    cur = await conn.execute(_sql.get_http_hosts, {"app_id": app_id})
    row = await cur.fetchone()
    return [] if row is None else list(row[0])


def list_http_hosts_sync(conn: psycopg.Connection[Any], app_id: AppId) -> frozenset[str]:
    """Return the same; on a handler thread's own connection."""
    row = conn.execute(_sql.get_http_hosts, {"app_id": app_id}).fetchone()
    return frozenset() if row is None else frozenset(row[0])


async def list_apps(conn: Connection, *, after: str | None = None, limit: int = 50) -> list[App]:
    """Return apps by name, those after `after` where it is given."""
    async with conn.cursor(row_factory=class_row(App)) as cur:
        await cur.execute(_sql.list_apps, {"after": after, "limit": limit})
        return await cur.fetchall()


async def update_app(
    conn: Connection,
    name: str,
    *,
    new_name: str | None = None,
    record_executions: RecordMode | None = None,
    record_sample_rate: float | None = None,
) -> App:
    """Change an app; None leaves a field as it is. Raises: AppNotFound, InvalidName, NameTaken."""
    if new_name is not None:
        check_app_name(new_name)
    values = {
        "name": name,
        "new_name": new_name,
        "record_executions": record_executions,
        "record_sample_rate": record_sample_rate,
    }
    try:
        async with conn.cursor(row_factory=class_row(App)) as cur:
            await cur.execute(_sql.update_app, values)
            app = await cur.fetchone()
    except errors.UniqueViolation as error:
        raise NameTaken(f"app '{new_name}' exists already") from error
    if app is None:
        raise AppNotFound(f"no app '{name}'")
    return app


async def delete_app(conn: Connection, name: str) -> None:
    """Delete the app and all that is in it. Raises: AppNotFound."""
    async with conn.transaction():
        cur = await conn.execute(_sql.delete_app, {"name": name})
        row = await cur.fetchone()
        if row is None:
            raise AppNotFound(f"no app '{name}'")
        await conn.execute(_sql.delete_app_row, {"id": row[0]})
        await conn.execute(_sql.delete_app_executions, {"id": row[0]})
        await conn.execute(_sql.delete_app_logs, {"id": row[0]})
