"""A pool of connections that survives restarts of the server and cancelled users."""

from __future__ import annotations

import functools
import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import psycopg
import trio
from psycopg import pq

from picloud.db.connection import Connection, connect
from picloud.db.dialer import Dialer
from picloud.db.outage import translate
from picloud.errors import DatabaseUnavailable

CLEAN_UP_SECONDS = 5.0
"""What a rollback on the way back into the pool may take before the connection is dropped."""


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """The state of a pool at one moment; counts of `connects`, `connect_failures` and `dropped` since its start."""

    size: int
    idle: int
    in_use: int
    waiting: int
    connects: int
    connect_failures: int
    dropped: int
    degraded_since: float | None
    """trio.current_time() of the first sign of an outage; None while the database answers."""
    last_error: str | None


class Pool:
    """Up to `size` connections, made when needed, the last used first.

    Units: `acquire_timeout` and `connect_timeout` in seconds.
    """

    def __init__(
        self,
        dsn: str,
        size: int = 10,
        *,
        acquire_timeout: float = 10.0,
        prepare: bool = True,
        application_name: str = "picloud",
        connect_timeout: float = 5.0,
    ) -> None:
        self._size = size
        self._acquire_timeout = acquire_timeout
        self._dialer = Dialer(
            functools.partial(connect, dsn, prepare=prepare, application_name=application_name, timeout=connect_timeout)
        )
        self._slots = trio.Semaphore(size, max_value=size)
        self._idle: list[Connection] = []
        self._in_use: set[Connection] = set()
        self._dropped = 0
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend an autocommit connection.

        Raises: DatabaseUnavailable when there is none within `acquire_timeout`, or when an outage ends the block;
        DatabaseMisconfigured when the connection string has never worked.
        """
        connection = await self._acquire()
        try:
            yield connection
        except psycopg.Error as error:
            if outage := translate(error):
                raise outage from error
            raise
        except DatabaseUnavailable as error:
            self._dialer.note_outage(error)
            raise
        finally:
            await self._give_back(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Lend a connection inside a transaction: committed at the end of the block, rolled back when it raises."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def ping(self) -> float:
        """Ask the server for a sign of life; return how many seconds it took. Raises: DatabaseUnavailable."""
        started = trio.current_time()
        try:
            with trio.fail_after(self._acquire_timeout):
                async with self.connection() as connection:
                    await connection.execute("select 1")
        except trio.TooSlowError as error:
            outage = DatabaseUnavailable(f"the database gave no answer within {self._acquire_timeout:g} s")
            self._dialer.note_outage(outage)
            raise outage from error
        self._dialer.note_health()
        return trio.current_time() - started

    def statistics(self) -> PoolStatistics:
        """Return the pool's counts."""
        return PoolStatistics(
            size=self._size,
            idle=len(self._idle),
            in_use=len(self._in_use),
            waiting=self._slots.statistics().tasks_waiting,
            connects=self._dialer.connects,
            connect_failures=self._dialer.failures,
            dropped=self._dropped,
            degraded_since=self._dialer.degraded_since,
            last_error=self._dialer.last_error,
        )

    async def aclose(self) -> None:
        """Close idle connections now and the others when they are given back."""
        self._closed = True
        while self._idle:
            await self._idle.pop().close()

    async def _acquire(self) -> Connection:
        self._check_open()
        with trio.move_on_after(self._acquire_timeout):
            await self._take_slot()
            try:
                connection = self._pop_idle() or await self._dialer.dial()
                self._in_use.add(connection)
                return connection
            except BaseException:
                self._slots.release()
                raise
        raise self._give_up()

    async def _take_slot(self) -> None:
        try:
            self._slots.acquire_nowait()
        except trio.WouldBlock:
            await self._slots.acquire()
            if self._closed:
                self._slots.release()
                self._check_open()

    def _pop_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if _is_fresh(connection):
                return connection
            self._drop(connection)
        return None

    async def _give_back(self, connection: Connection) -> None:
        try:
            await _clean_up(connection)
        finally:
            self._in_use.discard(connection)
            if self._closed or not _is_idle(connection):
                self._drop(connection)
            else:
                self._idle.append(connection)
            self._slots.release()

    def _drop(self, connection: Connection) -> None:
        self._dropped += not self._closed
        connection.drop()

    def _check_open(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("the pool of database connections is closed")

    def _give_up(self) -> DatabaseUnavailable:
        if len(self._in_use) >= self._size:
            return DatabaseUnavailable(f"all {self._size} database connections are in use: none came free in time")
        known = self._dialer.last_error if self._dialer.degraded_since is not None else None
        outage = DatabaseUnavailable(known or f"no answer from the database within {self._acquire_timeout:g} s")
        self._dialer.note_outage(outage)
        return outage


def _is_idle(connection: Connection) -> bool:
    # a closed connection's transaction status is UNKNOWN
    pgconn = connection.pgconn
    return pgconn.transaction_status == pq.TransactionStatus.IDLE and pgconn.pipeline_status == pq.PipelineStatus.OFF


def _is_fresh(connection: Connection) -> bool:
    """Tell whether nothing arrived while the connection was idle: what arrives then is the server's farewell."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return not poll.poll(0)


async def _clean_up(connection: Connection) -> None:
    """Roll back what a user left open; one in the middle of a statement is beyond that."""
    status = connection.pgconn.transaction_status
    if status not in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
        return
    with trio.CancelScope(shield=True, deadline=trio.current_time() + CLEAN_UP_SECONDS):
        try:
            await connection.rollback()
        except (psycopg.Error, DatabaseUnavailable):
            connection.drop()
