"""Fixtures of all layers: a real PostgreSQL per run, a database per test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
import trio
from hypothesis.configuration import set_hypothesis_home_dir
from psycopg import sql
from psycopg.conninfo import make_conninfo
from uuid_utils.compat import uuid7

from picloud.db.connection import Connection, connect
from picloud.db.embedded import EmbeddedPostgres
from picloud.db.migrate import migrate
from picloud.db.pool import Pool

TEMPLATE = "picloud_template"


def pytest_configure(config: pytest.Config) -> None:
    """Keep what Hypothesis stores out of the repository: an example that failed once belongs in a test."""
    folder = tempfile.mkdtemp(prefix="picloud-hypothesis-")
    set_hypothesis_home_dir(folder)
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture
def reachable_dir() -> Iterator[Path]:
    """A temporary folder that the database's user can reach, even where we are root; removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="picloud-test-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """The run's PostgreSQL; what it holds is thrown away, so it need not be durable."""
    folder = Path(tempfile.mkdtemp(prefix="picloud-pg-"))
    folder.chmod(0o711)
    server = EmbeddedPostgres(folder, settings={"fsync": "off", "max_connections": "200"})
    try:
        dsn = server.start()
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute(sql.SQL("create database {}").format(sql.Identifier(TEMPLATE)))
        trio.run(migrate, make_conninfo(dsn, dbname=TEMPLATE))
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """The dsn of a fresh database with the whole schema."""
    yield from _database(postgres, template=TEMPLATE)


@pytest.fixture
def empty_database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """The dsn of a fresh database without a schema."""
    yield from _database(postgres, template="template1")


def _database(postgres: EmbeddedPostgres, *, template: str) -> Iterator[str]:
    name = f"test_{uuid7().hex}"
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute(
            sql.SQL("create database {} template {} strategy file_copy").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        try:
            yield make_conninfo(postgres.dsn, dbname=name)
        finally:
            conn.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
async def conn(database: str) -> AsyncIterator[Connection]:
    """A connection to `database`."""
    connection = await connect(database)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    """A pool of four to `database`."""
    async with Pool(database, 4) as opened:
        yield opened
