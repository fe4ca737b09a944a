"""What the cases of the queue suite feed a node with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio
from uuid_utils.compat import uuid7

from picloud.actors.wakes import QueueKey
from picloud.bench.node import BenchNode
from picloud.db.connection import Connection
from picloud.db.messages import insert_messages, vacuum_messages
from picloud.db.sqlfile import load
from picloud.payload import encode_payload
from picloud.types import AppId, MessageId, NewMessage

NOOP = "def handle(event, ctx):\n    return None\n"
ENQUEUE_ONE = """\
from picloud.sdk import queue

def handle(event, ctx):
    queue.enqueue("bench-sink", event.payload)
"""
CPU_5MS = """\
import time

def handle(event, ctx):
    end = time.perf_counter() + 0.005
    while time.perf_counter() < end:
        pass
"""
SLEEP_50MS = """\
import time

def handle(event, ctx):
    time.sleep(0.05)
"""
PATIENCE = 300.0
"""Seconds after which a case that makes no end is an error."""

_sql = load("bench")


async def poll(condition: Callable[[], bool], *, interval: float = 0.001) -> None:
    """Wait until the condition holds; the figures of an actor send no event."""
    while not condition():  # noqa: ASYNC110
        await trio.sleep(interval)


async def fill(node: BenchNode, queue: str, count: int, *, batch: int = 1000) -> None:
    """Commit `count` messages."""
    async with node.parts.pool.connection() as conn:
        for start in range(0, count, batch):
            await send(conn, node.app.id, make_messages(queue, range(start, min(start + batch, count))))
            node.parts.wakes.sent(QueueKey(node.app.id, queue), 0.0)


async def send(conn: Connection, app_id: AppId, messages: Sequence[NewMessage]) -> None:
    """Commit messages, and tell nobody."""
    await insert_messages(conn, app_id, messages)


def make_messages(queue: str, numbers: Sequence[int]) -> list[NewMessage]:
    """Return a message for each number, as a caller of the Python API makes them."""
    return [NewMessage(MessageId(uuid7()), queue, encode_payload({"n": number})) for number in numbers]


async def vacuum(node: BenchNode) -> None:
    """Clean up after a case, so that the next one does not pay for it."""
    async with node.parts.pool.connection() as conn:
        await vacuum_messages(conn)


async def empty(node: BenchNode, queue: str) -> None:
    """Drop all messages of a queue, claimed ones, too."""
    async with node.parts.pool.connection() as conn:
        await conn.execute(_sql.empty_queue, {"app_id": node.app.id, "queue_name": queue})
        await vacuum_messages(conn)
