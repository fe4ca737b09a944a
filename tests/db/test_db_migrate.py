"""Migrations: forward only, checksummed, one transaction each, safe from many nodes."""

from __future__ import annotations

import pytest
import trio

from picloud.db.connection import connect
from picloud.db.migrate import Migration, load_migrations, migrate, status
from picloud.errors import MigrationError

ONE = Migration("0001_one", "create table one (a int);")
TWO = Migration("0002_two", "create table two (b int); insert into one values (1)")


async def tables(dsn: str) -> set[str]:
    conn = await connect(dsn)
    try:
        cur = await conn.execute("select tablename from pg_tables where schemaname = 'public'")
        return {row[0] for row in await cur.fetchall()}
    finally:
        await conn.close()


async def test_applies_what_is_pending_once(empty_database: str) -> None:
    first = await migrate(empty_database, [ONE])
    second = await migrate(empty_database, [ONE, TWO])
    third = await migrate(empty_database, [ONE, TWO])
    assert (first.applied, second.applied, third.applied) == (("0001_one",), ("0002_two",), ())
    assert third.already == 2
    assert await tables(empty_database) == {"one", "two", "schema_migrations"}


async def test_nodes_that_start_together_take_turns(empty_database: str) -> None:
    applied: list[str] = []

    async def start() -> None:
        applied.extend((await migrate(empty_database, [ONE, TWO])).applied)

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(start)
    assert sorted(applied) == ["0001_one", "0002_two"]


async def test_edited_migration_is_refused_by_name(empty_database: str) -> None:
    await migrate(empty_database, [ONE])
    with pytest.raises(MigrationError, match="0001_one"):
        await migrate(empty_database, [Migration("0001_one", "create table one (a text)")])


async def test_database_of_a_newer_picloud_is_refused(empty_database: str) -> None:
    await migrate(empty_database, [ONE, TWO])
    with pytest.raises(MigrationError, match="0002_two"):
        await migrate(empty_database, [ONE])


async def test_failing_migration_leaves_nothing_of_itself(empty_database: str) -> None:
    broken = Migration("0002_broken", "create table half (a int); select 1 / 0")
    with pytest.raises(MigrationError, match="0002_broken"):
        await migrate(empty_database, [ONE, broken])
    assert await tables(empty_database) == {"one", "schema_migrations"}
    assert (await migrate(empty_database, [ONE, TWO])).applied == ("0002_two",)


async def test_status_tells_each_migrations_state(empty_database: str) -> None:
    await migrate(empty_database, [ONE, TWO])
    edited = Migration("0001_one", "create table one (a text)")
    states = {row.name: row.state for row in await status(empty_database, [edited, Migration("0003_x", "select 1")])}
    assert states == {"0001_one": "edited", "0002_two": "unknown", "0003_x": "pending"}


def test_shipped_migrations_have_no_gap() -> None:
    assert [m.name[:4] for m in load_migrations()] == [f"{n:04}" for n in range(1, len(load_migrations()) + 1)]
