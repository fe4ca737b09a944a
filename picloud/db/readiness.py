"""Drive psycopg's generators with Trio's own readiness calls.

psycopg yields what it waits for (`Wait`) and is sent what happened (`Ready`), or None to be asked again.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psycopg
import trio
from psycopg.abc import PQGen, PQGenConn
from psycopg.waiting import Ready, Wait

T = TypeVar("T")

_POLL_EVENTS = {Wait.W: select.POLLOUT, Wait.RW: select.POLLIN | select.POLLOUT}
_SOCKET_GONE = (OSError, trio.ClosedResourceError)


class Mutex:
    """A first-come lock without a checkpoint when it is free, and without an owner.

    psycopg holds its connection's lock across the yields of async generators, which another task may finalise.
    """

    __slots__ = ("_held", "_waiters")

    def __init__(self) -> None:
        self._held = False
        self._waiters: deque[trio.lowlevel.Task] = deque()

    async def __aenter__(self) -> Mutex:
        if not self._held:
            self._held = True
            return self
        task = trio.lowlevel.current_task()
        self._waiters.append(task)

        def leave_queue(_raise_cancel: Any) -> trio.lowlevel.Abort:
            self._waiters.remove(task)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(leave_queue)
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._waiters:
            trio.lowlevel.reschedule(self._waiters.popleft())  # handed over: stays held
        else:
            self._held = False

    def locked(self) -> bool:
        return self._held


async def drive(generator: PQGen[T], fd: int) -> T:
    """Run a generator of an open connection to its end."""
    try:
        wait = next(generator)
        while True:
            wait = generator.send(await _until_ready(fd, wait))
    except StopIteration as stop:
        result: T = stop.value
        return result
    except _SOCKET_GONE as error:
        raise psycopg.OperationalError("the connection was closed meanwhile") from error


async def drive_connecting(generator: PQGenConn[T]) -> T:
    """Run a generator that opens a connection: its socket changes from step to step."""
    try:
        fd, wait = next(generator)
        while True:
            fd, wait = generator.send(await _until_ready(fd, wait, connecting=True))
    except StopIteration as stop:
        result: T = stop.value
        return result
    except _SOCKET_GONE as error:
        raise psycopg.OperationalError(f"the connection broke while opening: {error}") from error
    finally:
        generator.close()  # a cancelled attempt closes its socket now, not when it is collected


async def _until_ready(fd: int, wait: Wait, *, connecting: bool = False) -> Ready:
    if wait == Wait.R:
        await trio.lowlevel.wait_readable(fd)
        return Ready.R
    if not connecting and (ready := _ready_now(fd, wait)):
        return ready  # a socket that is asked for writing is nearly always writable
    if wait == Wait.W:
        await trio.lowlevel.wait_writable(fd)
        return Ready.W
    return await _until_either(fd)


def _ready_now(fd: int, wait: Wait) -> Ready | None:
    poll = select.poll()
    poll.register(fd, _POLL_EVENTS[wait])
    ready = 0
    for _, events in poll.poll(0):
        if events & ~select.POLLOUT:  # data, or an error or hang-up that the next read reports
            ready |= Ready.R if wait == Wait.RW else Ready.W
        if events & select.POLLOUT:
            ready |= Ready.W
    return Ready(ready) if ready else None


async def _until_either(fd: int) -> Ready:
    """Wait until the socket is readable or writable: only when a large statement has filled the send buffer."""
    ready = 0
    async with trio.open_nursery() as nursery:

        async def watch(wait_for: Callable[[int], Awaitable[None]], flag: Ready) -> None:
            nonlocal ready
            try:
                await wait_for(fd)
            except _SOCKET_GONE:
                pass  # libpq finds out at its next call and reports it in its own words
            ready |= flag
            nursery.cancel_scope.cancel()

        nursery.start_soon(watch, trio.lowlevel.wait_readable, Ready.R)
        nursery.start_soon(watch, trio.lowlevel.wait_writable, Ready.W)
    return Ready(ready)
