"""Many idle consumers on one node: what they cost, and how fast one of them wakes up."""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import trio

from picloud.bench.feeding import NOOP, PATIENCE, fill, poll
from picloud.bench.measure import Case, read_resident_bytes
from picloud.bench.node import BenchNode, bench_node
from picloud.config import Settings
from picloud.db.scripts import put_script
from picloud.db.triggers import QueueTriggerSettings, delete_trigger, insert_queue_trigger
from picloud.types import TriggerId

MESSAGES = 100
SCRIPT = "idle"
BINDERS = 4
"""Connections that create triggers at the same time."""


def idle_cases(dsn: str, *, consumers: int, seconds: float) -> list[Case]:
    """Return the cases of a node with so many queue triggers, on the database of `dsn`; it is watched for `seconds`."""
    crowd = _Crowd(dsn, consumers, seconds)
    params = {"consumers": consumers}
    return [
        Case("idle-consumers", "cores", partial(crowd.figure, "cores"), {**params, "seconds": seconds}),
        Case("idle-consumers-memory", "MB", partial(crowd.figure, "memory_mb"), params),
        Case("idle-consumers-latency", "ms", partial(crowd.figure, "latency_ms"), {**params, "percentile": 50}),
        Case("idle-consumers-tree", "ms", partial(crowd.figure, "tree_ms"), {**params, "depth": 1}),
    ]


class _Crowd:
    """Hands out the figures of one node, and starts a new one for the next round.

    The node has a process of its own, so that its memory and its load are nothing else's.
    """

    def __init__(self, dsn: str, consumers: int, seconds: float) -> None:
        self._dsn = dsn
        self._seconds = seconds
        self._consumers = consumers
        self._figures: dict[str, float] = {}

    async def figure(self, name: str) -> float:
        if name not in self._figures:
            command = [sys.executable, "-m", __name__, self._dsn, str(self._consumers), str(self._seconds)]
            done = await trio.run_process(command, capture_stdout=True)
            self._figures = json.loads(done.stdout)
        return self._figures.pop(name)


async def watch(dsn: str, consumers: int, seconds: float) -> dict[str, float]:
    """Start a node with so many consumers and return what it costs and how fast it wakes."""
    async with bench_node(dsn, Settings(home=Path.cwd(), log_level="error")) as node:
        queues = [f"idle-{number}" for number in range(consumers)]
        triggers = await _bind_all(node, queues)
        with trio.fail_after(PATIENCE):
            await poll(lambda: node.tree.roster.details()["consumers"] == consumers)
        # their first look at their queues is over when the pool has nothing to do
        await trio.sleep(1.0)
        with trio.fail_after(PATIENCE):
            await poll(lambda: node.parts.pool.statistics().in_use == 0)
        figures = {
            "cores": await _measure_load(seconds),
            "memory_mb": read_resident_bytes() / 1e6,
            "latency_ms": await _measure_latency(node, queues),
            "tree_ms": _measure_tree(node),
        }
        await _unbind_all(node, triggers)
        return figures


async def _bind_all(node: BenchNode, queues: list[str]) -> list[TriggerId]:
    triggers: list[TriggerId] = []

    async def bind(part: list[str]) -> None:
        async with node.parts.pool.connection() as conn:
            for queue in part:
                trigger = await insert_queue_trigger(conn, node.app.id, SCRIPT, queue, QueueTriggerSettings())
                triggers.append(trigger.id)

    async with node.parts.pool.connection() as conn:
        await put_script(conn, node.app.id, SCRIPT, NOOP)
    async with trio.open_nursery() as nursery:
        for first in range(BINDERS):
            nursery.start_soon(bind, queues[first::BINDERS])
    node.parts.wakes.changed("scripts")
    node.parts.wakes.changed("triggers")
    return triggers


async def _unbind_all(node: BenchNode, triggers: list[TriggerId]) -> None:
    async with node.parts.pool.connection() as conn, conn.transaction():
        for trigger in triggers:
            await delete_trigger(conn, node.app.id, trigger)


async def _measure_load(seconds: float) -> float:
    """Return the share of one core that this process takes while nothing comes in."""
    began, used = time.perf_counter(), time.process_time()
    await trio.sleep(seconds)
    return (time.process_time() - used) / (time.perf_counter() - began)


async def _measure_latency(node: BenchNode, queues: list[str]) -> float:
    """Return the median of milliseconds from the commit of a message to the start of its handler."""
    waits = []
    for queue in random.choices(queues, k=min(MESSAGES, 2 * len(queues))):
        await trio.sleep(0.02)
        before = node.processed(queue)
        await fill(node, queue, 1)
        committed = time.perf_counter()
        with trio.fail_after(PATIENCE):
            await poll(lambda: node.processed(queue) > before)  # noqa: B023
        waits.append(max(0.0, node.started_at[queue] - committed))
    return statistics.median(waits) * 1000


def _measure_tree(node: BenchNode) -> float:
    """Return milliseconds for all consumers as JSON."""
    waits = []
    for _ in range(5):
        began = time.perf_counter()
        node.tree.render("/picloud/consumers", 1)
        waits.append(time.perf_counter() - began)
    return statistics.median(waits) * 1000


if __name__ == "__main__":
    print(json.dumps(trio.run(watch, sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
