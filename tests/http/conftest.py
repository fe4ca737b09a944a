"""The HTTP API on a real database."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from http_api import MAX_PAYLOAD_BYTES, NODE_ID, Api, Surroundings, compile_script, no_events
from psycopg.conninfo import make_conninfo

from picloud.db.apps import insert_app
from picloud.db.embedded import EmbeddedPostgres
from picloud.db.pool import Pool
from picloud.db.tokens import create_token
from picloud.http.node import Node
from picloud.types import App

DATABASE = "test_http"


@pytest.fixture(scope="session")
def http_database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A database for all tests of this folder: making one takes longer than most of them."""
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute(f"create database {DATABASE} template picloud_template strategy file_copy")
        yield make_conninfo(postgres.dsn, dbname=DATABASE)
        conn.execute(f"drop database {DATABASE} with (force)")


@pytest.fixture
def database(http_database: str) -> Iterator[str]:
    """The dsn of a database without a row."""
    yield http_database
    with psycopg.connect(http_database, autocommit=True) as conn:
        # what hangs on an app goes with it
        conn.execute("delete from triggers")
        conn.execute("delete from apps")
        conn.execute("truncate executions, execution_logs")
        conn.execute("delete from tokens")


@pytest.fixture
async def around() -> Surroundings:
    """The node around the API."""
    return Surroundings()


@pytest.fixture
async def node(pool: Pool, around: Surroundings) -> Node:
    """A node with a real pool."""
    return Node(
        pool=pool,
        compile_script=compile_script,
        sent=around.note_sent,
        wake=lambda app_id, queue: around.woken.append(queue),
        changed=around.changed.append,
        snapshot=around.snapshot,
        find_routes=around.find_routes,
        serve=around.serve,
        render_tree=around.render_tree,
        restart_actor=around.restart,
        readiness=around.readiness,
        max_payload_bytes=MAX_PAYLOAD_BYTES,
        events=no_events,
        id=NODE_ID,
        running=lambda: around.running,
        cancel=around.cancel,
    )


@pytest.fixture
async def api(node: Node, around: Surroundings) -> Api:
    """The API, with a token."""
    async with node.pool.connection() as conn:
        token = await create_token(conn, "test")
    return Api(node, around, token)


@pytest.fixture
async def shop(pool: Pool) -> App:
    """An app of that name."""
    async with pool.connection() as conn:
        return await insert_app(conn, "shop")
