"""The HTTP API on a real database."""

from __future__ import annotations

import pytest
from http_api import MAX_PAYLOAD_BYTES, Api, Surroundings, compile_script, no_events

from picloud.db.apps import insert_app
from picloud.db.pool import Pool
from picloud.db.tokens import create_token
from picloud.http.node import Node
from picloud.types import App


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
        changed=around.changed.append,
        snapshot=around.snapshot,
        restart_actor=around.restart,
        readiness=around.readiness,
        max_payload_bytes=MAX_PAYLOAD_BYTES,
        events=no_events,
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
