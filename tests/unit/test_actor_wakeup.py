"""Wake-ups over connections that hang, break and come back; when the other nodes hear."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
import trio
from trio.testing import MockClock

from picloud.actors.wakes import QueueKey, QueueWakes
from picloud.actors.wakeup import Wakeup, WakeupConfig
from picloud.db.messages import DueQueue
from picloud.errors import DatabaseUnavailable
from picloud.types import AppId

APP = AppId(uuid4())
KEY = QueueKey(APP, "a")
CONFIG = WakeupConfig()


class Line:
    """A connection that hears nothing; `answer` is what becomes of statements after the first three.

    Those are the LISTENs and the look whose session it is.
    """

    info = SimpleNamespace(backend_pid=1)

    def __init__(self, answer: Callable[[], Awaitable[None]]) -> None:
        self._answer = answer
        self.asked: list[float] = []

    async def execute(self, statement: str, parameters: object = None) -> Line:
        self.asked.append(trio.current_time())
        if len(self.asked) > 3:
            await self._answer()
        return self

    async def fetchone(self) -> tuple[bool]:
        return (True,)

    async def receive_notifies(self, timeout: float) -> list[Any]:
        await trio.sleep(timeout)
        return []

    async def close(self) -> None:
        pass


async def nothing() -> None:
    await trio.lowlevel.checkpoint()


async def broken() -> None:
    raise DatabaseUnavailable("the server closed the connection")


def make_wakeup(wakes: QueueWakes, connect: Callable[[], Awaitable[Any]]) -> Wakeup:
    async def list_due() -> list[DueQueue]:
        return []

    return Wakeup(wakes, connect, list_due, CONFIG, uuid4())


@pytest.mark.parametrize("trouble", [trio.sleep_forever, broken])
async def test_connection_that_is_half_open_is_found_and_the_next_one_sweeps(
    autojump_clock: MockClock, trouble: Callable[[], Awaitable[None]]
) -> None:
    wakes = QueueWakes()
    mailbox, triggers = wakes.mailbox(KEY), wakes.watch("triggers")
    lines: list[Line] = []

    async def connect() -> Line:
        lines.append(Line(trouble if not lines else nothing))
        return lines[-1]

    wakeup = make_wakeup(wakes, connect)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wakeup._listen)
        # the sweep of the first connection
        assert await mailbox.wait(timeout=1)
        assert await triggers.wait(timeout=1)
        began = trio.current_time()
        assert await mailbox.wait(timeout=100)
        assert await triggers.wait(timeout=0)
        limit = CONFIG.probe_interval + CONFIG.probe_timeout + 1
        assert CONFIG.probe_interval <= trio.current_time() - began <= limit
        assert (wakeup.details()["listening"], wakeup.details()["reconnects"]) == (True, 1)
        # one that answers its probes is kept
        await trio.sleep(10 * CONFIG.probe_interval)
        assert len(lines) == 2
        assert len(lines[1].asked) >= 3 + 9
        nursery.cancel_scope.cancel()


async def test_nodes_do_not_poll_in_step(autojump_clock: MockClock) -> None:
    polls: list[list[float]] = [[], []]

    def poll_into(times: list[float]) -> Wakeup:
        async def list_due() -> list[DueQueue]:
            times.append(trio.current_time())
            return []

        return Wakeup(QueueWakes(), broken_connect, list_due, CONFIG, uuid4())

    async def broken_connect() -> Any:
        raise DatabaseUnavailable("away")

    async with trio.open_nursery() as nursery:
        for times in polls:
            nursery.start_soon(poll_into(times)._keep_time)
        await trio.sleep(100 * CONFIG.poll_interval)
        nursery.cancel_scope.cancel()
    for times in polls:
        waits = [after - before for before, after in pairwise(times[1:])]
        assert all(0.8 * CONFIG.poll_interval - 0.01 <= wait <= 1.2 * CONFIG.poll_interval + 0.01 for wait in waits)
    together = {round(at, 3) for at in polls[0][2:]} & {round(at, 3) for at in polls[1][2:]}
    assert len(together) < 10


@pytest.mark.parametrize(("has_consumer", "expected"), [(True, CONFIG.coalesce), (False, 0.0)])
async def test_other_nodes_hear_at_once_of_what_nobody_here_waits_for(
    autojump_clock: MockClock, has_consumer: bool, expected: float
) -> None:
    wakes = QueueWakes()
    line = Line(nothing)

    async def connect() -> Line:
        return line

    if has_consumer:
        wakes.mailbox(KEY)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_wakeup(wakes, connect)._tell)
        await trio.sleep(1)
        began = trio.current_time()
        wakes.sent(KEY, 0.0)
        await trio.sleep(0.1)
        assert [round(at - began, 4) for at in line.asked] == [expected]
        # a flood is told of once in so many milliseconds
        began = trio.current_time()
        for _ in range(100):
            wakes.sent(KEY, 0.0)
            await trio.sleep(CONFIG.coalesce / 10)
        told = len(line.asked) - 1
        assert 8 <= told <= 12
        nursery.cancel_scope.cancel()
