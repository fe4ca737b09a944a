"""A trace through a node's whole tree: messages, invokes, the outbox and dead letters of one root."""

from __future__ import annotations

from pathlib import Path

import trio
from uuid_utils.compat import uuid7

from picloud.bench.feeding import fill
from picloud.bench.node import BenchNode, bench_node
from picloud.config import Settings
from picloud.db.dead_letter_triggers import insert_dead_letter_trigger
from picloud.db.dead_letters import Replay, replay_dead_letters
from picloud.db.execution_reads import ExecutionFilter, ExecutionRecord, list_executions, list_trace
from picloud.db.messages import insert_messages
from picloud.db.scripts import put_script
from picloud.db.triggers import QueueTriggerSettings
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.types import MessageId, NewMessage

HANG_LIMIT = 60.0
SCRIPTS = {
    "root": "from picloud.sdk import queue\ndef handle(event, ctx):\n    queue.enqueue('second', 1)\n",
    "second": (
        "from picloud.sdk import invoke, queue\n"
        "def handle(event, ctx):\n    invoke('callee')\n    queue.enqueue('third', 1)\n"
    ),
    "callee": (
        "from picloud.sdk import invoke_async, queue\n"
        "def handle(event, ctx):\n    queue.enqueue('third', 2)\n    invoke_async('later')\n"
    ),
    "third": (
        "from picloud.sdk import kv\n"
        "def handle(event, ctx):\n"
        "    kv.increment('n')\n"
        "    if event.payload == 2:\n        raise ValueError('no')\n"
    ),
    "later": "def handle(event, ctx):\n    return None\n",
    "mourn": "def handle(event, ctx):\n    assert event.error['execution_id']\n",
}


async def deploy(node: BenchNode) -> None:
    async with node.parts.pool.connection() as conn:
        for name in ("callee", "later", "mourn"):
            await put_script(conn, node.app.id, name, SCRIPTS[name])
        await insert_dead_letter_trigger(conn, node.app.id, DeadLetterTriggerSpec("mourn"))
    settings = QueueTriggerSettings(retry_max_attempts=1)
    for name in ("root", "second", "third"):
        await node.bind(name, SCRIPTS[name], name, settings)


async def trace_once_whole(node: BenchNode, count: int) -> list[ExecutionRecord]:
    """Return the trace of the one root once so many executions are recorded."""
    with trio.fail_after(HANG_LIMIT):
        while True:
            async with node.parts.pool.connection() as conn:
                roots = await list_executions(conn, node.app.id, ExecutionFilter(script_name="root"))
                found = await list_trace(conn, node.app.id, roots[0].id, 100) if roots else []
            if len(found) >= count:
                return found
            await trio.sleep(0.05)


async def test_trace_tells_what_each_execution_caused(database: str, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, log_level="error")
    async with bench_node(database, settings) as node:
        await deploy(node)
        async with node.parts.pool.connection() as conn:
            began = NewMessage(MessageId(uuid7()), "root", "1", request_id="mine/1")
            await insert_messages(conn, node.app.id, [began])
        node.wake("root")
        found = await trace_once_whole(node, 7)
        async with node.parts.pool.connection() as conn:
            await replay_dead_letters(conn, node.app.id, Replay("ann"))
        node.wake("third")
        with_replay = await trace_once_whole(node, 9)
    names = {one.id: one.script_name for one in found}
    caused = sorted(
        (names[one.parent_execution_id] if one.parent_execution_id else "", one.script_name, one.source, one.status)
        for one in found
    )
    assert caused == [
        ("", "root", "queue", "ok"),
        ("callee", "later", "invoke", "ok"),
        ("callee", "third", "queue", "error"),
        ("root", "second", "queue", "ok"),
        ("second", "callee", "invoke", "ok"),
        ("second", "third", "queue", "ok"),
        ("third", "mourn", "dead_letter", "ok"),
    ]
    mourner = next(one for one in found if one.script_name == "mourn")
    dead = next(one for one in found if one.status == "error")
    assert (mourner.parent_execution_id, mourner.trigger_depth) == (dead.id, 1)
    assert mourner.trigger_id is not None
    # the request goes with all that it causes, replays included
    assert [one.request_id for one in with_replay] == ["mine/1"] * 9


async def test_dead_letter_of_a_root_is_traced_from_it(database: str, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, log_level="error")
    async with bench_node(database, settings) as node:
        await deploy(node)
        await node.bind(
            "root",
            "def handle(event, ctx):\n    raise ValueError('no')\n",
            "other",
            QueueTriggerSettings(retry_max_attempts=1),
        )
        await fill(node, "other", 1)
        root, mourner = await trace_once_whole(node, 2)
    assert (root.status, mourner.script_name, mourner.parent_execution_id) == ("error", "mourn", root.id)
    assert (root.request_id, mourner.request_id) == (None, None)
