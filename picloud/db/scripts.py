"""Scripts and their versions. Source: sql/scripts.sql."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg import errors
from psycopg.rows import class_row
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import NameTaken, ScriptInUse, ScriptNotFound
from picloud.names import check_script_name
from picloud.types import App, AppId, Script, ScriptId

_sql = load("scripts")


@dataclass(frozen=True, slots=True)
class StoredScript:
    """A script after a write, and whether the write made a new version."""

    script: Script
    changed: bool


@dataclass(frozen=True, slots=True)
class ScriptHead:
    """Which version of a script is current."""

    id: ScriptId
    version: int


@dataclass(frozen=True, slots=True)
class ScriptVersion:
    """One version that a script had."""

    version: int
    source_sha256: str
    created_at: datetime


async def insert_script(conn: Connection, app: App, name: str, source: str) -> Script:
    """Make a script; the caller has compiled it. Raises: InvalidName, NameTaken."""
    check_script_name(name)
    try:
        async with conn.cursor(row_factory=class_row(Script)) as cur:
            await cur.execute(_sql.insert_script, _values(app.id, name, source))
            script = await cur.fetchone()
    except errors.UniqueViolation as error:
        raise NameTaken(f"app '{app.name}' has a script '{name}' already") from error
    assert script is not None
    return script


async def put_script(conn: Connection, app_id: AppId, name: str, source: str) -> StoredScript:
    """Store the source as the script's next version, or as its first; the same source again changes nothing.

    Raises: InvalidName.
    """
    check_script_name(name)
    while True:
        cur = await conn.execute(_sql.put_script, _values(app_id, name, source))
        row = await cur.fetchone()
        # no row: another writer stored a different version between the statement's snapshot and its insert
        if row is not None:
            return StoredScript(Script(*row[:7]), row[7])


async def get_script(conn: Connection, app_id: AppId, name: str) -> Script:
    """Return the script at its current version. Raises: ScriptNotFound."""
    script = await find_script(conn, app_id, name)
    if script is None:
        raise ScriptNotFound(f"no script '{name}' in this app")
    return script


async def find_script(conn: Connection, app_id: AppId, name: str) -> Script | None:
    """Return the script at its current version, or None."""
    async with conn.cursor(row_factory=class_row(Script)) as cur:
        await cur.execute(_sql.get_script, {"app_id": app_id, "name": name})
        return await cur.fetchone()


async def list_scripts(conn: Connection, app_id: AppId, *, after: str | None = None, limit: int = 50) -> list[Script]:
    """Return an app's scripts by name, those after `after` where it is given."""
    async with conn.cursor(row_factory=class_row(Script)) as cur:
        await cur.execute(_sql.list_scripts, {"app_id": app_id, "after": after, "limit": limit})
        return await cur.fetchall()


async def list_script_heads(conn: Connection) -> list[ScriptHead]:
    """Return id and version of the scripts of all apps."""
    async with conn.cursor(row_factory=class_row(ScriptHead)) as cur:
        await cur.execute(_sql.list_script_heads)
        return await cur.fetchall()


async def load_scripts(conn: Connection, ids: Sequence[ScriptId]) -> list[Script]:
    """Return the scripts of these ids; one that is gone is left out."""
    async with conn.cursor(row_factory=class_row(Script)) as cur:
        await cur.execute(_sql.load_scripts, {"ids": list(ids)})
        return await cur.fetchall()


async def list_script_versions(
    conn: Connection, script_id: ScriptId, *, before: int | None = None, limit: int = 50
) -> list[ScriptVersion]:
    """Return the script's versions, newest first, older than `before` where it is given."""
    async with conn.cursor(row_factory=class_row(ScriptVersion)) as cur:
        await cur.execute(_sql.list_script_versions, {"script_id": script_id, "before": before, "limit": limit})
        return await cur.fetchall()


async def get_script_source(conn: Connection, script_id: ScriptId, version: int) -> str:
    """Return the source of one version. Raises: ScriptNotFound."""
    cur = await conn.execute(_sql.get_script_version, {"script_id": script_id, "version": version})
    row = await cur.fetchone()
    if row is None:
        raise ScriptNotFound(f"the script has no version {version}")
    return str(row[1])


async def delete_script(conn: Connection, app_id: AppId, name: str) -> None:
    """Delete the script and its versions. Raises: ScriptNotFound, ScriptInUse."""
    try:
        cur = await conn.execute(_sql.delete_script, {"app_id": app_id, "name": name})
    except errors.ForeignKeyViolation as error:
        raise ScriptInUse(f"a trigger runs script '{name}': delete the trigger first") from error
    if cur.rowcount == 0:
        raise ScriptNotFound(f"no script '{name}' in this app")


def hash_source(source: str) -> str:
    """Return the hash by which versions of a script are told apart."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def _values(app_id: AppId, name: str, source: str) -> dict[str, object]:
    return {"id": uuid7(), "app_id": app_id, "name": name, "source": source, "source_sha256": hash_source(source)}
