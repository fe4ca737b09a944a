"""The Trio-native connection and its pool: cancellation, terminated backends, outages."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial

import psycopg
import pytest
import trio
from psycopg.conninfo import make_conninfo

from picloud.db.connection import Connection, connect
from picloud.db.dsn import redact_dsn
from picloud.db.embedded import EmbeddedPostgres
from picloud.db.pool import Pool
from picloud.errors import DatabaseMisconfigured, DatabaseUnavailable


async def one(conn: Connection, sql: str, *params: object) -> object:
    cur = await conn.execute(sql, params)  # type: ignore[arg-type]
    row = await cur.fetchone()
    assert row is not None
    return row[0]


async def until_it_fails(work: Callable[[], Awaitable[object]]) -> None:
    with trio.fail_after(30):
        while True:
            await work()


async def sleeping(conn: Connection) -> object:
    return await one(
        conn,
        "select count(*) from pg_stat_activity where query like 'select pg_sleep%%' and state = 'active' "
        "and datname = current_database()",
    )


async def test_cancelled_query_ends_on_the_server_and_leaves_the_connection_usable(
    conn: Connection, database: str
) -> None:
    watcher = await connect(database)
    began = time.monotonic()
    with trio.move_on_after(0.1) as scope:
        await conn.execute("select pg_sleep(30)")
    assert scope.cancelled_caught
    assert time.monotonic() - began < 10
    assert await sleeping(watcher) == 0
    assert await one(conn, "select 42") == 42
    await watcher.close()


async def test_cancellation_racing_with_the_answer_never_mixes_up_answers(conn: Connection) -> None:
    for number in range(150):
        with trio.move_on_after(0.0003 + number % 20 * 0.0001):
            await conn.execute("select pg_sleep(0.001)")
        assert await one(conn, "select %s::int", number) == number


async def test_cancelled_transaction_is_rolled_back(conn: Connection, database: str) -> None:
    with trio.move_on_after(0.1):
        async with conn.transaction():
            await conn.execute("create table half_done (a int)")
            await conn.execute("select pg_sleep(30)")
    assert await one(conn, "select to_regclass('half_done')") is None


async def test_large_traffic_both_ways_at_once_does_not_stall(conn: Connection) -> None:
    with trio.fail_after(60):
        async with conn.pipeline():
            cursors = [await conn.execute("select %s::text", ("x" * 200_000,)) for _ in range(60)]
        assert sum([len((await cur.fetchone() or ("",))[0]) for cur in cursors]) == 60 * 200_000


async def test_notifications_arrive_and_a_cancelled_wait_loses_none(conn: Connection, database: str) -> None:
    await conn.execute("listen here")
    with trio.move_on_after(0.05):
        await conn.receive_notifies()
    other = await connect(database)
    await other.execute("select pg_notify('here', 'a')")
    await other.close()
    with trio.fail_after(20):
        (notify,) = await conn.receive_notifies()
    assert notify.payload == "a"
    assert await conn.receive_notifies(timeout=0.05) == []


async def test_terminated_backend_is_an_outage_and_the_connection_is_closed(database: str, conn: Connection) -> None:
    victim = await connect(database)
    pid = victim.info.backend_pid
    await one(conn, "select pg_terminate_backend(%s)", pid)
    with pytest.raises(DatabaseUnavailable):
        await until_it_fails(partial(victim.execute, "select 1"))
    assert victim.closed


@pytest.mark.parametrize(
    ("change", "text"),
    [({"dbname": "nowhere"}, "nowhere"), ({"user": "nobody"}, ""), ({"password": "wrong-secret"}, "")],
)
async def test_wrong_dsn_is_told_apart_from_an_outage_and_hides_the_password(
    database: str, change: dict[str, str], text: str
) -> None:
    with pytest.raises(DatabaseMisconfigured) as caught:
        await connect(make_conninfo(database, **change))
    assert text in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_refused_connection_is_an_outage() -> None:
    with pytest.raises(DatabaseUnavailable, match=r"127\.0\.0\.1"):
        await connect("postgresql://picloud:secret@127.0.0.1:1/picloud")


@pytest.mark.parametrize(
    "dsn", ["postgresql://u:secret@h/db", "host=h user=u password=secret", "postgresql://h/db?password=secret"]
)
def test_redacted_dsn_never_holds_the_password(dsn: str) -> None:
    assert "secret" not in redact_dsn(dsn)


async def test_pool_keeps_no_more_connections_than_its_size_and_gives_back_clean_ones(database: str) -> None:
    async with Pool(database, 3) as pool:
        pids = set()

        async def use() -> None:
            async with pool.connection() as conn:
                pids.add(await one(conn, "select pg_backend_pid()"))
                await trio.sleep(0.01)

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(use)
        assert len(pids) <= 3
        for number in range(100):
            with trio.move_on_after(0.0002 + number % 10 * 0.0001):
                async with pool.transaction() as conn:
                    await conn.execute("select pg_sleep(0.001)")
        async with pool.connection() as conn:
            assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        statistics = pool.statistics()
        assert statistics.in_use == 0
        assert statistics.idle <= 3


async def test_pool_drops_connections_whose_backend_was_terminated(database: str) -> None:
    async with Pool(database, 2) as pool:
        async with pool.connection() as conn:
            first = await one(conn, "select pg_backend_pid()")
        other = await connect(database)
        await one(other, "select pg_terminate_backend(%s)", first)
        await other.close()
        with trio.fail_after(30):
            while True:
                try:
                    async with pool.connection() as conn:
                        assert await one(conn, "select pg_backend_pid()") != first
                    break
                except DatabaseUnavailable:
                    continue


async def test_pool_survives_an_immediate_restart_of_the_server(reachable_dir: object) -> None:
    from pathlib import Path

    home = Path(str(reachable_dir)) / "restart"
    server = EmbeddedPostgres(home, settings={"fsync": "off"})
    dsn = await trio.to_thread.run_sync(server.start)
    try:
        async with Pool(dsn, 2, acquire_timeout=1.0) as pool:
            await pool.ping()
            await trio.to_thread.run_sync(kill_postmaster, home)
            with pytest.raises(DatabaseUnavailable):
                await until_it_fails(pool.ping)
            await trio.to_thread.run_sync(server.start)
            with trio.fail_after(30):
                while True:
                    try:
                        await pool.ping()
                        break
                    except DatabaseUnavailable:
                        await trio.sleep(0.05)
    finally:
        await trio.to_thread.run_sync(server.stop)


def kill_postmaster(home: object) -> None:
    import os
    import signal
    from pathlib import Path

    os.kill(int((Path(str(home)) / "pg" / "postmaster.pid").read_text().splitlines()[0]), signal.SIGKILL)
    time.sleep(0.3)


RAISES = "do $$ begin raise exception 'going away' using errcode = '{}'; end $$"


# Known failure 22: the pool stays on a demoted primary, or on a server that goes away.
async def test_pool_drops_a_connection_whose_server_says_that_it_is_of_no_use_any_more(pool: Pool) -> None:
    states = ["25006", "57P01", "57P02", "57P03", "57P05", "08006", "53300", "26000"]
    for dropped, state in enumerate(states, start=1):
        async with pool.connection() as conn:
            before = await one(conn, "select pg_backend_pid()")
        with pytest.raises(DatabaseUnavailable):
            await use(pool, RAISES.format(state))
        assert (state, pool.statistics().dropped, pool.statistics().idle) == (state, dropped, 0)
        async with pool.connection() as conn:
            assert await one(conn, "select pg_backend_pid()") != before
        await pool.ping()
        assert pool.statistics().degraded_since is None


async def test_pool_leaves_a_primary_that_became_read_only(pool: Pool) -> None:
    async with pool.connection() as conn:
        # as after a demotion: reads work, writes do not
        await conn.execute("set default_transaction_read_only = on")
    assert pool.statistics().idle == 1
    with pytest.raises(DatabaseUnavailable):
        await use(pool, "create table t (a int)")
    await use(pool, "create table t (a int)")


async def test_a_statement_timeout_of_the_role_is_waited_out(pool: Pool) -> None:
    async with pool.connection() as conn:
        await conn.execute("set statement_timeout = '20ms'")  # as `alter role … set` does for every session
    with pytest.raises(DatabaseUnavailable, match="statement timeout"):
        await use(pool, "select pg_sleep(5)")
    await use(pool, "select pg_sleep(0)")


async def test_errors_of_statements_keep_their_connection(pool: Pool) -> None:
    for state in ("22012", "23505", "40001", "40P01", "42601"):
        with pytest.raises(psycopg.Error):
            await use(pool, RAISES.format(state))
    assert (pool.statistics().dropped, pool.statistics().idle) == (0, 1)


async def use(pool: Pool, statement: str) -> None:
    async with pool.connection() as conn:
        await conn.execute(statement)  # type: ignore[arg-type]
