"""Bring the schema up to date: forward only, one transaction per file, safe from many nodes at once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal

import psycopg
from psycopg.rows import class_row

from picloud.db import sqlfile
from picloud.db.connection import Connection, connect
from picloud.errors import DatabaseMisconfigured, MigrationError

_SQL = sqlfile.load("schema_migrations")

_FILE_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_OLDEST_SERVER = 150_000
"""PostgreSQL 15, as libpq numbers versions."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of the schema's history; `name` is the file's name without `.sql`."""

    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a run of `migrate` did."""

    applied: tuple[str, ...]
    already: int
    """How many were applied before, by this node or another one."""


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """One migration as the files and the database see it.

    edited: the file changed after it was applied. unknown: applied, but this picloud has no such file.
    """

    name: str
    state: Literal["applied", "pending", "edited", "unknown"]
    applied_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Applied:
    name: str
    sha256: str
    applied_at: datetime


def load_migrations(folder: Traversable | None = None) -> tuple[Migration, ...]:
    """Return the migrations of `folder` (None: those of this picloud) in order.

    Raises: MigrationError for a file of the wrong name, a number that is missing or there twice.
    """
    files = (resources.files("picloud.migrations") if folder is None else folder).iterdir()
    migrations = [
        Migration(file.name.removesuffix(".sql"), file.read_text("utf-8"))
        for file in sorted(files, key=lambda file: file.name)
        if file.name.endswith(".sql")
    ]
    for expected, migration in enumerate(migrations, start=1):
        match = _FILE_NAME.fullmatch(f"{migration.name}.sql")
        if match is None or int(match[1]) != expected:
            raise MigrationError(
                f"migration {migration.name}.sql should be {expected:04}_….sql: no gap, no number twice"
            )
    return tuple(migrations)


async def migrate(dsn_or_conn: str | Connection, migrations: Sequence[Migration] | None = None) -> Migrated:
    """Apply what is pending of `migrations` (None: those of this picloud).

    Atomic: each migration together with its record; one that fails leaves no trace, those before it stay.
    Raises: MigrationError, DatabaseMisconfigured, DatabaseUnavailable.
    """
    wanted = load_migrations() if migrations is None else tuple(migrations)
    async with _connected(dsn_or_conn) as conn:
        _check_server(conn)
        applied: list[str] = []
        while pending := _pending(await _list_applied(conn), wanted):
            if await _apply(conn, pending[0], wanted):
                applied.append(pending[0].name)
        return Migrated(tuple(applied), len(wanted) - len(applied))


async def status(
    dsn_or_conn: str | Connection, migrations: Sequence[Migration] | None = None
) -> tuple[MigrationStatus, ...]:
    """Compare the files with the database, changing nothing. Raises: DatabaseUnavailable, DatabaseMisconfigured."""
    wanted = {migration.name: migration for migration in (load_migrations() if migrations is None else migrations)}
    async with _connected(dsn_or_conn) as conn:
        applied = {row.name: row for row in await _list_applied(conn)}
    return tuple(_compare(name, wanted.get(name), applied.get(name)) for name in sorted({*wanted, *applied}))


async def _apply(conn: Connection, migration: Migration, wanted: Sequence[Migration]) -> bool:
    """Apply one migration; False when another node was faster."""
    async with conn.transaction():
        await conn.execute(_SQL.lock_migrations)
        await conn.execute(_SQL.create_table)
        if migration not in _pending(await _list_applied(conn), wanted)[:1]:
            return False
        await conn.execute(_SQL.lift_time_limits)
        try:
            await conn.execute(migration.sql.encode(), prepare=False)
        except psycopg.Error as error:
            raise MigrationError(f"migration {migration.name} failed and was rolled back: {error}") from error
        if conn.info.transaction_status != psycopg.pq.TransactionStatus.INTRANS:
            raise MigrationError(f"migration {migration.name} must not begin or end transactions of its own")
        await conn.execute(_SQL.record_migration, {"name": migration.name, "sha256": migration.sha256})
    return True


def _pending(applied: Sequence[_Applied], wanted: Sequence[Migration]) -> Sequence[Migration]:
    """Return what is to be applied after `applied`. Raises: MigrationError when their histories differ."""
    known = {migration.name: migration for migration in wanted}
    for row in applied:
        if row.name not in known:
            raise MigrationError(
                f"the database has migration {row.name}, which this picloud does not know: it was set up by a newer "
                "version (upgrade this one), or by another program"
            )
        if row.sha256 != known[row.name].sha256:
            raise MigrationError(
                f"migration {row.name} was edited after it was applied: restore the file, add a new one"
            )
    names = {row.name for row in applied}
    for migration in wanted[: len(applied)]:
        if migration.name not in names:
            raise MigrationError(
                f"migration {migration.name} was added before {applied[-1].name}, which is applied already"
            )
    return wanted[len(applied) :]


def _compare(name: str, wanted: Migration | None, applied: _Applied | None) -> MigrationStatus:
    if applied is None:
        return MigrationStatus(name, "pending", None)
    if wanted is None:
        return MigrationStatus(name, "unknown", applied.applied_at)
    state: Literal["applied", "edited"] = "applied" if wanted.sha256 == applied.sha256 else "edited"
    return MigrationStatus(name, state, applied.applied_at)


async def _list_applied(conn: Connection) -> list[_Applied]:
    async with conn.cursor() as cursor:
        await cursor.execute(_SQL.has_table)
        if (await cursor.fetchone()) != (True,):
            return []
    async with conn.cursor(row_factory=class_row(_Applied)) as rows:
        await rows.execute(_SQL.list_applied)
        return await rows.fetchall()


def _check_server(conn: Connection) -> None:
    if conn.info.server_version < _OLDEST_SERVER:
        raise DatabaseMisconfigured(
            f"picloud needs PostgreSQL 15 or newer, this is {conn.info.server_version // 10_000}"
        )
    encoding = conn.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise DatabaseMisconfigured(f"the database's encoding is {encoding}: create one with encoding UTF8")


@asynccontextmanager
async def _connected(dsn_or_conn: str | Connection) -> AsyncIterator[Connection]:
    if isinstance(dsn_or_conn, Connection):
        yield dsn_or_conn
        return
    async with await connect(dsn_or_conn, prepare=False, application_name="picloud-migrate") as conn:
        yield conn
