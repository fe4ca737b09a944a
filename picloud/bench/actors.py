"""The actors suite: what the runtime costs, and ten thousand idle consumers."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import trio

from picloud.actors.runtime import Backoff, ChildSpec, DynamicSupervisor, Journal, Mailbox, Supervisor
from picloud.actors.tree_text import render_tree
from picloud.bench.measure import Case, read_resident_bytes


class _Idler:
    """The smallest real actor: a mailbox of its own, and a wait."""

    __slots__ = ("mailbox",)

    def __init__(self) -> None:
        self.mailbox: Mailbox[int] = Mailbox(8)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        with self.mailbox.reading() as inbox:
            async for _ in inbox:
                pass


def actor_cases(*, children: int) -> list[Case]:
    """Return the cases that need no database."""
    params = {"children": children}
    return [
        Case("start", "children/s", partial(start_children, children), params),
        Case("stop", "children/s", partial(stop_children, children), params),
        Case("memory", "bytes", partial(memory_per_child, children), params),
        Case("tree-snapshot", "ms", partial(snapshot, children), {**params, "depth": 1}),
        Case("restart", "ms", partial(restart, 200), {"restarts": 200}),
        Case("mailbox", "messages/s", partial(mailbox, 20 * children), {"messages": 20 * children}),
    ]


async def start_children(count: int) -> float:
    """Return children started per second."""
    async with _supervisor() as supervisor:
        began = time.perf_counter()
        await supervisor.start_children(_specs(count))
        return count / (time.perf_counter() - began)


async def stop_children(count: int) -> float:
    """Return children stopped per second, all of them with their supervisor."""
    root = DynamicSupervisor("bench", journal=_quiet())
    async with trio.open_nursery() as nursery:
        await nursery.start(root.run)
        await root.start_children(_specs(count))
        began = time.perf_counter()
        root.request_stop()
    return count / (time.perf_counter() - began)


async def memory_per_child(count: int) -> float:
    """Return bytes of resident memory per idle child with a mailbox.

    In a process of its own: this one would take the memory that earlier cases gave back.
    """
    program = f"import trio, {__name__} as actors; print(trio.run(actors.grow, {count}))"
    done = await trio.run_process([sys.executable, "-c", program], capture_stdout=True)
    return float(done.stdout)


async def grow(count: int) -> float:
    """Return bytes of resident memory per child, in a process that has not started any."""
    async with _supervisor() as supervisor:
        await supervisor.start_children(_specs(100, "warm"))
        gc.collect()
        before = read_resident_bytes()
        await supervisor.start_children(_specs(count))
        gc.collect()
        return (read_resident_bytes() - before) / count


async def snapshot(count: int) -> float:
    """Return milliseconds for the tree of `count` children, one level deep, as JSON."""
    async with _supervisor() as supervisor:
        await supervisor.start_children(_specs(count))
        waits = []
        for _ in range(5):
            began = time.perf_counter()
            render_tree(supervisor, depth=1)
            waits.append(time.perf_counter() - began)
        return statistics.median(waits) * 1000


async def restart(count: int) -> float:
    """Return the median milliseconds from a crash to the next incarnation's start, without backoff."""
    waits: list[float] = []
    crashed_at = 0.0
    crash = trio.Event()
    up = trio.Event()

    async def crasher(*, task_status: trio.TaskStatus[None]) -> None:
        nonlocal crash, crashed_at
        if crashed_at:
            waits.append(time.perf_counter() - crashed_at)
        crash = trio.Event()
        task_status.started()
        up.set()
        await crash.wait()
        crashed_at = time.perf_counter()
        raise RuntimeError("on purpose")

    root = Supervisor("bench", [ChildSpec("crasher", crasher)], max_restarts=count + 1, journal=_quiet())
    async with trio.open_nursery() as nursery:
        await nursery.start(root.run)
        for _ in range(count):
            up = trio.Event()
            crash.set()
            await up.wait()
        root.request_stop()
    return statistics.median(waits) * 1000


async def mailbox(count: int) -> float:
    """Return messages per second from one task to another."""
    box: Mailbox[int] = Mailbox(1000)

    async def send() -> None:
        for number in range(count):
            await box.send(number)

    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        with box.reading() as inbox:
            for _ in range(count):
                await inbox.receive()
    return count / (time.perf_counter() - began)


def _specs(count: int, prefix: str = "child") -> list[ChildSpec]:
    return [ChildSpec(f"{prefix}/{number}", _Idler().run) for number in range(count)]


def _quiet() -> Journal:
    return Journal(report=lambda report: None)


@asynccontextmanager
async def _supervisor() -> AsyncIterator[DynamicSupervisor]:
    supervisor = DynamicSupervisor("bench", backoff=Backoff(), journal=_quiet())
    async with trio.open_nursery() as nursery:
        await nursery.start(supervisor.run)
        try:
            yield supervisor
        finally:
            supervisor.request_stop()
