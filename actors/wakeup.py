"""Wakeup: one LISTEN connection, one NOTIFY connection and one timer for all queues of a node."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

import trio

from picloud.actors.retrying import OutageBackoff
from picloud.actors.runtime import HealthGauge
from picloud.actors.wakes import QueueKey, QueueWakes
from picloud.db.connection import Connection
from picloud.db.messages import DueQueue
from picloud.db.wakeups import (
    CHANGED_CHANNEL,
    QUEUE_CHANNEL,
    is_own_session,
    listen,
    notify_changed,
    notify_queues,
)
from picloud.errors import DatabaseUnavailable

Connect = Callable[[], Awaitable[Connection]]


@dataclass(frozen=True, slots=True)
class WakeupConfig:
    """Durations are seconds."""

    poll_interval: float = 2.0
    """How often the database is asked for due queues: finds what no notification told."""
    coalesce: float = 0.002
    """How long outgoing notifications are collected: NOTIFY takes a lock of the whole server."""
    probe_interval: float = 15.0
    """A LISTEN connection that was silent for so long is probed: it may be half open."""
    probe_timeout: float = 5.0
    listens: bool = True
    """False: only the poll finds what other nodes did, for a database behind a pool that gives no session of ours."""
    jitter: float = 0.2
    """Share of the poll interval by which nodes spread out."""


@dataclass(slots=True)
class _Figures:
    listening: bool = False
    pooled: bool = False
    reconnects: int = 0
    heard: int = 0
    told: int = 0
    polls: int = 0


@dataclass(slots=True)
class Wakeup:
    """Turn commits anywhere into wake-ups of this node's consumers.

    A notification is a hint: the poll, and the sweep after each reconnect, find what it missed.
    """

    wakes: QueueWakes
    connect: Connect
    """Opens a direct connection, not one of the pool: LISTEN needs a session of its own."""
    list_due: Callable[[], Awaitable[list[DueQueue]]]
    config: WakeupConfig
    node_id: UUID
    _listener: HealthGauge = field(default_factory=HealthGauge)
    _teller: HealthGauge = field(default_factory=HealthGauge)
    _poller: HealthGauge = field(default_factory=HealthGauge)
    _figures: _Figures = field(default_factory=_Figures)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen, tell, poll and fire timers until cancelled."""
        async with trio.open_nursery() as nursery:
            if self.config.listens:
                nursery.start_soon(self._listen)
                nursery.start_soon(self._tell)
            nursery.start_soon(self._keep_time)
            task_status.started()

    @property
    def health(self) -> HealthGauge:
        """The first of the three loops that is in trouble."""
        gauges = (self._listener, self._teller, self._poller)
        return next((gauge for gauge in gauges if gauge.current.state != "ok"), self._listener)

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        figures = self._figures
        return {
            "listening": figures.listening,
            # a proxy lends the session: what is listened to may be lost, unless it pools whole sessions
            "pooled": figures.pooled,
            "reconnects": figures.reconnects,
            "heard": figures.heard,
            "told": figures.told,
            "polls": figures.polls,
            "queues": self.wakes.waiting,
            "timers": self.wakes.timers,
        }

    # --- hearing what other nodes committed

    async def _listen(self) -> None:
        backoff = OutageBackoff(self._listener)
        while True:
            try:
                async with self._session() as conn:
                    await listen(conn)
                    self._figures.pooled = not await is_own_session(conn)
                    self._figures.listening = True
                    # whatever was committed while nobody listened
                    self.wakes.wake_all()
                    self.wakes.heard("triggers")
                    self.wakes.heard("scripts")
                    backoff.ok()
                    await self._hear(conn)
            except DatabaseUnavailable as error:
                self._figures.reconnects += 1
                await backoff.wait(error)
            finally:
                self._figures.listening = False

    async def _hear(self, conn: Connection) -> None:
        while True:
            notifies = await conn.receive_notifies(timeout=self.config.probe_interval)
            if not notifies:
                await self._probe(conn)
            for notify in notifies:
                self._heard(notify.channel, notify.payload)

    def _heard(self, channel: str, payload: str) -> None:
        sender, _, what = payload.partition("/")
        if sender == str(self.node_id):
            return
        self._figures.heard += 1
        if channel == CHANGED_CHANNEL:
            self.wakes.heard(what)
        elif channel == QUEUE_CHANNEL:
            try:
                self.wakes.wake(QueueKey.parse(what))
            except ValueError:
                return  # not one of ours: anybody may NOTIFY

    async def _probe(self, conn: Connection) -> None:
        with trio.move_on_after(self.config.probe_timeout) as scope:
            await conn.execute("select 1")
        if scope.cancelled_caught:
            raise DatabaseUnavailable("the LISTEN connection does not answer")

    # --- telling other nodes what was committed here

    async def _tell(self) -> None:
        backoff = OutageBackoff(self._teller)
        while True:
            try:
                async with self._session() as conn:
                    backoff.ok()
                    while True:
                        await self.wakes.has_outgoing.wait()
                        # a queue that has a consumer here can wait: the other nodes only help
                        is_urgent = self.wakes.is_urgent
                        if not is_urgent:
                            await trio.sleep(self.config.coalesce)
                        await self.tell_once(conn)
                        if is_urgent:
                            await trio.sleep(self.config.coalesce)
            except DatabaseUnavailable as error:
                await backoff.wait(error)

    async def tell_once(self, conn: Connection) -> int:
        """Notify the other nodes of all that was committed since the last time; return of how many things."""
        queues, changes = self.wakes.take_outgoing()
        is_told = False
        try:
            with trio.fail_after(self.config.probe_timeout):
                if queues:
                    await notify_queues(conn, [f"{self.node_id}/{queue}" for queue in queues])
                for what in changes:
                    await notify_changed(conn, f"{self.node_id}/{what}")
            is_told = True
        except trio.TooSlowError as error:
            raise DatabaseUnavailable("the NOTIFY connection does not answer") from error
        finally:
            if not is_told:
                self.wakes.put_back(queues, changes)
        self._figures.told += len(queues) + len(changes)
        return len(queues) + len(changes)

    # --- time

    async def _keep_time(self) -> None:
        backoff = OutageBackoff(self._poller)
        next_poll = trio.current_time()
        while True:
            if trio.current_time() >= next_poll:
                try:
                    await self.poll()
                    backoff.ok()
                except DatabaseUnavailable as error:
                    await backoff.wait(error)
                next_poll = trio.current_time() + self._interval()
            next_timer = self.wakes.fire_timers()
            rest = max(0.0, next_poll - trio.current_time())
            await self.wakes.timers_changed.wait(timeout=rest if next_timer is None else min(rest, next_timer))

    async def poll(self) -> list[DueQueue]:
        """Wake the consumers of all queues with due messages; set timers for those due before the next poll."""
        due = await self.list_due()
        self._figures.polls += 1
        for queue in due:
            if queue.due_in <= self.config.poll_interval * 2:
                self.wakes.wake_in(QueueKey(queue.app_id, queue.queue_name), queue.due_in)
        return due

    def _interval(self) -> float:
        return self.config.poll_interval * random.uniform(1 - self.config.jitter, 1 + self.config.jitter)

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[Connection]:
        conn = await self.connect()
        try:
            yield conn
        finally:
            with trio.CancelScope(shield=True):
                await conn.close()
