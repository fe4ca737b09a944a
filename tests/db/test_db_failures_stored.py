"""Known failure 12: whatever a handler leaves, its message is finished, and a failure is stored as such.

Handlers do their worst with texts, numbers and keys; a real consumer settles them in a real database.
"""

from __future__ import annotations

from textwrap import dedent

import pytest
import trio
from queue_probes import Queue, new_queue

from picloud.actors.consumer import Consumer, ConsumerConfig
from picloud.actors.handling import MessageHandling
from picloud.actors.runtime import WakeMailbox
from picloud.actors.stores import PoolQueueStore
from picloud.db.connection import Connection
from picloud.db.dead_letters import list_dead_letters
from picloud.db.kv import read_key
from picloud.db.pool import Pool
from picloud.engine import EmptyWorld, Engine, EngineSettings

SCRIPT = dedent(
    r"""
    BAD = {
        "nul": "a\0b",
        "surrogate": "a\ud800b",
        "long": "x" * 100_000,
        "control": "\x1b[2J\x07\r\n",
    }

    class Odd(Exception):
        def __str__(self):
            return BAD["nul"] + BAD["surrogate"]

    class Worse(Exception):
        def __str__(self):
            raise ValueError(BAD["surrogate"])

    def nest(depth):
        value = []
        for _ in range(depth):
            value = [value]
        return value

    def handle(event, ctx):
        kind, name = event.payload
        text = BAD.get(name, "")
        if kind == "raise":
            raise ValueError(text)
        if kind == "raise_field":
            raise KeyError({text: [text]})
        if kind == "odd":
            raise Odd()
        if kind == "worse":
            raise Worse()
        if kind == "return":
            return {text: text}
        if kind == "deep":
            return nest(5000)
        if kind == "log":
            log.error(text, field=text)
            print(text)
        if kind == "payload":
            queue.enqueue("other", {text: text})
        if kind == "dedup_key":
            queue.enqueue("other", 1, dedup_key=text)
        if kind == "group_key":
            queue.enqueue("other", 1, group_key=text)
        if kind == "queue":
            queue.enqueue(text, 1)
        if kind == "invoke":
            invoke_async(text, {text: text})
        if kind == "kv":
            kv.set(text, text)
        if kind == "digits":
            kv.set("digits", 10 ** 5000)
        if kind == "nan":
            queue.enqueue("other", float("nan"))
        if kind == "delay":
            queue.enqueue("other", 1, delay=1e300)
        if kind == "when":
            queue.enqueue("other", 1, deliver_after="9999-12-31T23:59:59-14:00")
        if kind == "count":
            kv.increment("count", 9_000_000_000_000_000_000)
    """
)
NAMES = ("nul", "surrogate", "long", "control")
KINDS = (
    "raise", "raise_field", "return", "log", "payload", "dedup_key", "group_key", "queue", "invoke", "kv",
)  # fmt: skip
ALONE = ("odd", "worse", "deep", "digits", "nan", "delay", "when", "count", "count", "fine")


@pytest.fixture
async def queue(conn: Connection) -> Queue:
    return await new_queue(conn)


async def test_every_message_is_finished_whatever_its_handler_leaves(pool: Pool, queue: Queue) -> None:
    trigger = await queue.bind(retry_max_attempts=1)
    payloads = [[kind, name] for kind in KINDS for name in NAMES] + [[kind, ""] for kind in ALONE]
    await queue.send(*payloads)
    engine = Engine(EngineSettings(timeout_secs=10.0), EmptyWorld())
    script = engine.compile("work", SCRIPT)
    handling = MessageHandling(
        engine, trio.CapacityLimiter(1), trigger, script, slice_secs=0.05, on_outcomes=lambda outcomes: None
    )
    wake = WakeMailbox()
    consumer = Consumer(
        trigger,
        PoolQueueStore(pool, trigger),
        handling,
        wake,
        ConsumerConfig(),
        on_sent=lambda messages: None,
        on_retry=lambda seconds: None,
    )
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(consumer.run)
            while (await queue.counts())[:3] != (0, 0, 0):
                await trio.sleep(0.02)
            consumer.drain()
    engine.close()
    dead = await list_dead_letters(queue.conn, queue.app.id, limit=1000)
    failed = sorted("/".join(letter.event["payload"]) for letter in dead)
    assert consumer.processed + len(dead) == len(payloads)
    assert all(letter.error is not None and letter.error["type"] for letter in dead)
    assert {"raise/nul", "raise/surrogate", "odd/", "worse/", "digits/", "nan/", "delay/", "count/"} <= set(failed)
    assert not any(name.startswith(("log/", "fine/", "return/long")) for name in failed)
    # two executions counted at once from nothing: each saw a sum that fits, the second commit did not
    assert failed.count("count/") == 1
    assert (await read_key(queue.conn, queue.app.id, "count")).value == "9000000000000000000"
    other = await queue.counts("other")
    assert other[0] + other[1] == sum(f"payload/{name}" not in failed for name in NAMES) + sum(
        f"{kind}/{name}" not in failed for kind in ("dedup_key", "group_key") for name in NAMES
    ) + ("when/" not in failed)
