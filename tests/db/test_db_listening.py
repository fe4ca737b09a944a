"""LISTEN on real connections: cut, gone quiet, restarted; what one notification wakes; what may be in one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

import pytest
import trio
from queue_probes import new_queue
from tcp_relay import relay_to
from uuid_utils.compat import uuid7

from picloud.actors.wakes import QueueKey, QueueWakes
from picloud.actors.wakeup import Wakeup, WakeupConfig
from picloud.db import connection
from picloud.db.connection import Connection, connect
from picloud.db.messages import DueQueue
from picloud.types import AppId

APP = AppId(uuid7())
KEY = QueueKey(APP, "jobs")
LIMIT = 30.0
QUIET = WakeupConfig(poll_interval=3600.0, probe_interval=0.2, probe_timeout=0.2)
"""The poll finds nothing in time: what comes, comes by LISTEN."""


async def nothing_due() -> list[DueQueue]:
    return []


@dataclass
class Node:
    """The wake-ups of a node; they outlive each incarnation of the actor."""

    dsn: str
    config: WakeupConfig = QUIET
    wakes: QueueWakes = field(default_factory=QueueWakes)
    id: UUID = field(default_factory=uuid7)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Wakeup]:
        connect_here = partial(connect, self.dsn, application_name="listener")
        wakeup = Wakeup(self.wakes, connect_here, nothing_due, self.config, self.id)
        async with trio.open_nursery() as nursery:
            await nursery.start(wakeup.run)
            await until(lambda: wakeup.details()["listening"] is True)
            yield wakeup
            nursery.cancel_scope.cancel()


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(LIMIT):
        while not condition():
            await trio.sleep(0.01)


async def drain(node: Node, *keys: QueueKey) -> None:
    """Forget the wake-ups that there were."""
    for key in keys:
        await node.wakes.mailbox(key).wait(timeout=0)


async def test_connection_that_is_cut_is_made_again_listens_again_and_sweeps(database: str, conn: Connection) -> None:
    here, there = Node(database), Node(database)
    mailbox = here.wakes.mailbox(KEY)
    async with here.running() as wakeup, there.running():
        assert await mailbox.wait(timeout=LIMIT)
        await conn.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listener'")
        # the sweep
        assert await mailbox.wait(timeout=LIMIT)
        assert wakeup.details()["reconnects"] == 1
        assert wakeup.details()["listening"] is True
        there.wakes.sent(KEY, 0.0)
        assert await mailbox.wait(timeout=LIMIT)
        assert wakeup.details()["heard"] == 1


async def test_connection_that_went_quiet_is_found_by_its_probe(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CANCEL_GRACE", 0.1)
    async with relay_to(database) as relay:
        here, there = Node(relay.address), Node(database)
        mailbox = here.wakes.mailbox(KEY)
        async with here.running() as wakeup, there.running():
            assert await mailbox.wait(timeout=LIMIT)
            relay.go_quiet()
            there.wakes.sent(KEY, 0.0)
            assert await mailbox.wait(timeout=LIMIT)
            assert wakeup.details()["reconnects"] == 1
            assert wakeup.details()["heard"] == 0
            there.wakes.sent(KEY, 0.0)
            assert await mailbox.wait(timeout=LIMIT)
            assert wakeup.details()["heard"] == 1
            assert wakeup.health.current.state == "ok"
            # the connection that tells is quiet, too: what could not be told goes over the next one
            theirs = there.wakes.mailbox(KEY)
            await theirs.wait(timeout=0)
            here.wakes.sent(KEY, 0.0)
            assert await theirs.wait(timeout=LIMIT)


async def test_mailbox_taken_before_a_restart_of_the_notifier_is_woken_after_it(database: str) -> None:
    here, there = Node(database), Node(database)
    mailbox, triggers = here.wakes.mailbox(KEY), here.wakes.watch("triggers")
    async with there.running():
        for _ in range(3):
            async with here.running() as wakeup:
                await mailbox.wait(timeout=LIMIT)
                await triggers.wait(timeout=LIMIT)
                there.wakes.sent(KEY, 0.0)
                there.wakes.changed("triggers")
                assert await mailbox.wait(timeout=LIMIT)
                assert await triggers.wait(timeout=LIMIT)
                assert wakeup.details()["heard"] == 2


async def test_notification_wakes_the_consumer_of_its_queue_and_no_other_on_any_node(database: str) -> None:
    sender, nodes = Node(database), [Node(database), Node(database)]
    keys = [QueueKey(APP, f"queue-{number}") for number in range(50)]
    async with sender.running(), nodes[0].running(), nodes[1].running():
        for node in nodes:
            await drain(node, *keys)
        sender.wakes.sent(keys[7], 0.0)
        for node in nodes:
            assert await node.wakes.mailbox(keys[7]).wait(timeout=LIMIT)
        await trio.sleep(0.05)
        woken = [key.name for node in nodes for key in keys if await node.wakes.mailbox(key).wait(timeout=0)]
        assert woken == []


async def test_large_payload_and_the_longest_names_fit_into_notifications(database: str, conn: Connection) -> None:
    queue = await new_queue(conn, "q" * 128)
    here, there = Node(database), Node(database)
    keys = [QueueKey(queue.app.id, queue.name), *(QueueKey(queue.app.id, f"{n:04}" + "q" * 100) for n in range(2000))]
    async with here.running() as wakeup, there.running() as other:
        await drain(here, *keys)
        large = "x" * (1024 * 1024 - 2)
        await queue.send(large)
        for key in keys:
            there.wakes.sent(key, 0.0)
        await until(lambda: wakeup.details()["heard"] == len(keys))
        assert await here.wakes.mailbox(keys[0]).wait(timeout=LIMIT)
        assert (await queue.claim()).payloads == [large]
        assert other.health.current.state == "ok"
