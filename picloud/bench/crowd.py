"""What a message costs where most queues of a node have nothing to do."""

from __future__ import annotations

import time
from functools import partial

import trio

from picloud.bench.feeding import NOOP, PATIENCE, make_messages, poll, send, vacuum
from picloud.bench.node import BenchNode
from picloud.db.scripts import put_script
from picloud.db.sqlfile import load
from picloud.db.triggers import QueueTriggerSettings, insert_queue_trigger

BUSY = 10
BATCH = 10

_sql = load("bench")


class Crowd:
    """A thousand queues with a consumer each, of which ten have messages; or those ten alone."""

    def __init__(self, node: BenchNode, queues: int, messages: int) -> None:
        self._node = node
        self._queues = queues
        self._messages = messages
        self._is_bound = False

    async def many(self) -> float:
        """Return µs of CPU time of this process for a message, all queues having consumers."""
        return await self._measure(idle=True)

    async def few(self) -> float:
        """Return the same with consumers of the busy queues only."""
        return await self._measure(idle=False)

    async def _measure(self, *, idle: bool) -> float:
        node = self._node
        if not self._is_bound:
            await self._bind()
            self._is_bound = True
        await self._switch("crowd-busy", on=True, first=0, last=BUSY)
        await self._switch("crowd-idle", on=idle, first=BUSY, last=self._queues)
        before = self._processed()
        used = time.process_time()
        async with node.parts.pool.connection() as conn:
            for number in range(0, self._messages, BATCH):
                queue = _name(number // BATCH % BUSY)
                await send(conn, node.app.id, make_messages(queue, range(BATCH)))
                node.wake(queue)
        sent = -(-self._messages // BATCH) * BATCH
        with trio.fail_after(PATIENCE):
            await poll(lambda: self._processed() - before >= sent, interval=0.01)
        spent = time.process_time() - used
        await self._switch("crowd-busy", on=False, first=0, last=BUSY)
        await self._switch("crowd-idle", on=False, first=BUSY, last=self._queues)
        await vacuum(node)
        return spent / sent * 1e6

    async def _bind(self) -> None:
        node = self._node
        async with node.parts.pool.connection() as conn:
            for script in ("crowd-busy", "crowd-idle"):
                await put_script(conn, node.app.id, script, NOOP)
            for number in range(self._queues):
                script = "crowd-busy" if number < BUSY else "crowd-idle"
                await insert_queue_trigger(
                    conn, node.app.id, script, _name(number), QueueTriggerSettings(enabled=False)
                )
        node.parts.wakes.changed("scripts")

    async def _switch(self, script: str, *, on: bool, first: int, last: int) -> None:
        node = self._node
        async with node.parts.pool.connection() as conn:
            await conn.execute(_sql.switch_triggers, {"app_id": node.app.id, "script": script, "enabled": on})
        node.parts.wakes.changed("triggers")
        ends = (_name(first), _name(last - 1))
        with trio.fail_after(PATIENCE):
            for queue in ends if last > first else ():
                await poll(partial(self._is, queue, on), interval=0.02)
            await poll(lambda: node.parts.pool.statistics().in_use == 0, interval=0.02)

    def _is(self, queue: str, running: bool) -> bool:
        return self._node.is_running(queue) == running

    def _processed(self) -> int:
        return sum(self._node.processed(_name(number)) for number in range(BUSY))


def _name(number: int) -> str:
    return f"crowd-{number:04}"
