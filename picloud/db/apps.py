"""Apps. Source: sql/apps.sql."""

from __future__ import annotations

from psycopg import errors
from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import AppNotFound, NameTaken
from picloud.names import check_app_name
from picloud.types import App

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


async def list_apps(conn: Connection, *, after: str | None = None, limit: int = 50) -> list[App]:
    """Return apps by name, those after `after` where it is given."""
    async with conn.cursor(row_factory=class_row(App)) as cur:
        await cur.execute(_sql.list_apps, {"after": after, "limit": limit})
        return await cur.fetchall()


async def rename_app(conn: Connection, name: str, new_name: str) -> App:
    """Give the app another name. Raises: AppNotFound, InvalidName, NameTaken."""
    check_app_name(new_name)
    try:
        async with conn.cursor(row_factory=class_row(App)) as cur:
            await cur.execute(_sql.rename_app, {"name": name, "new_name": new_name})
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
