"""Partitions of what ran: made ahead, dropped behind, and never missing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import trio

from picloud.db.connection import Connection, connect
from picloud.db.executions import drop_partitions, ensure_partitions

INSERT = """
insert into executions (id, app_id, script_name, script_version, source, attempt, trigger_depth, status, started_at,
                        duration_secs, cpu_secs, log_lines)
values (%s, %s, 'work', 1, 'queue', 1, 0, 'ok', now(), 0, 0, 0)
"""
APP = UUID(int=1)


def id_at(time: datetime, number: int = 0) -> UUID:
    return UUID(int=(int(time.timestamp() * 1000) << 80) + number)


async def today(conn: Connection) -> datetime:
    cur = await conn.execute("select now()")
    row = await cur.fetchone()
    assert row is not None
    now: datetime = row[0].astimezone(UTC)
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


async def tables_by_id(conn: Connection) -> dict[UUID, str]:
    cur = await conn.execute("select id, tableoid::regclass::text from executions")
    return dict(await cur.fetchall())


async def insert(conn: Connection, *ids: UUID) -> None:
    for execution_id in ids:
        await conn.execute(INSERT, (execution_id, APP))


async def test_partitions_are_made_for_today_and_the_days_to_come_and_only_once(conn: Connection) -> None:
    day = await today(conn)
    expected = [
        f"{table}_{(day + timedelta(days=ahead)):%Y%m%d}"
        for ahead in range(3)
        for table in ("executions", "execution_logs")
    ]
    assert await ensure_partitions(conn, 2) == expected
    assert await ensure_partitions(conn, 2) == []


async def test_first_and_last_id_of_a_day_lie_in_its_partition(conn: Connection) -> None:
    day = await today(conn)
    await ensure_partitions(conn, 1)
    first, last = id_at(day), UUID(int=id_at(day + timedelta(days=1)).int - 1)
    await insert(conn, first, last, UUID(int=last.int + 1))
    found = await tables_by_id(conn)
    assert found[first] == found[last] == f"executions_{day:%Y%m%d}"
    assert found[UUID(int=last.int + 1)] == f"executions_{day + timedelta(days=1):%Y%m%d}"


async def test_row_without_a_partition_is_kept_and_moves_into_it_when_it_is_made(conn: Connection) -> None:
    day = await today(conn)
    late, other = id_at(day + timedelta(days=1), 7), id_at(day + timedelta(days=40))
    await insert(conn, late, other)
    assert set((await tables_by_id(conn)).values()) == {"executions_default"}
    await ensure_partitions(conn, 1)
    found = await tables_by_id(conn)
    assert found == {late: f"executions_{day + timedelta(days=1):%Y%m%d}", other: "executions_default"}


async def test_old_days_are_dropped_and_the_last_ones_kept(conn: Connection) -> None:
    day = await today(conn)
    for back in range(5):
        await conn.execute("select make_day_partition('executions', 'id', %s)", ((day - timedelta(days=back)).date(),))
        await insert(conn, id_at(day - timedelta(days=back), 1))
    stray = id_at(day - timedelta(days=30))
    await insert(conn, stray)
    gone = [f"executions_{day - timedelta(days=back):%Y%m%d}" for back in (4, 3)]
    assert await drop_partitions(conn, 2) == gone
    assert set(await tables_by_id(conn)) == {id_at(day - timedelta(days=back), 1) for back in range(3)}
    assert await drop_partitions(conn, 2) == []


async def test_two_nodes_at_once_make_each_partition_once(conn: Connection, database: str) -> None:
    other = await connect(database)
    made: list[list[str]] = []

    async def make(on: Connection) -> None:
        made.append(await ensure_partitions(on, 3))

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(make, conn)
            nursery.start_soon(make, other)
    finally:
        await other.close()
    assert len([name for names in made for name in names]) == 8
    assert await ensure_partitions(conn, 3) == []


async def test_a_long_reader_makes_nothing_fail_and_nothing_is_dropped(conn: Connection, database: str) -> None:
    await conn.execute("select make_day_partition('executions', 'id', current_date - 9)")
    reader = await connect(database, autocommit=False)
    try:
        await reader.execute("select count(*) from executions")
        assert await drop_partitions(conn, 1) == []
    finally:
        await reader.close()
    assert len(await drop_partitions(conn, 1)) == 1
