"""Secrets of an app. Source: sql/secrets.sql."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import SecretNotFound
from picloud.types import AppId

_sql = load("secrets")


@dataclass(frozen=True, slots=True)
class SecretHead:
    """What anybody but a script may know of a secret."""

    name: str
    updated_at: datetime


async def put_secret(conn: Connection, app_id: AppId, name: str, value: str) -> None:
    """Set a secret, new or not."""
    await conn.execute(_sql.put_secret, {"app_id": app_id, "name": name, "value": value})


async def list_secrets(
    conn: Connection, app_id: AppId, *, after: str | None = None, limit: int = 50
) -> list[SecretHead]:
    """Return the names of an app's secrets, in order."""
    async with conn.cursor(row_factory=class_row(SecretHead)) as cur:
        await cur.execute(_sql.list_secrets, {"app_id": app_id, "after": after, "limit": limit})
        return await cur.fetchall()


async def delete_secret(conn: Connection, app_id: AppId, name: str) -> None:
    """Forget a secret. Raises: SecretNotFound."""
    cur = await conn.execute(_sql.delete_secret, {"app_id": app_id, "name": name})
    if cur.rowcount == 0:
        raise SecretNotFound(f"no secret '{name}'")


async def read_secrets(conn: Connection, app_id: AppId, names: Sequence[str]) -> dict[str, str]:
    """Return secrets by name; those that are not set are left out."""
    cur = await conn.execute(_sql.read_secrets, {"app_id": app_id, "names": list(names)})
    return {str(name): str(value) for name, value in await cur.fetchall()}


def read_secret_sync(conn: psycopg.Connection[Any], app_id: AppId, name: str) -> str | None:
    """Return a secret, or None; on a handler thread's own connection."""
    row = conn.execute(_sql.read_secret, {"app_id": app_id, "name": name}).fetchone()
    return None if row is None else str(row[0])


def warn_of_secret(app: str, name: str) -> str:
    """Return what to tell whoever saves a route whose secret is not set."""
    return f"the secret '{name}' is not set: until `picloud secrets set {app} {name}` its routes answer 503"
