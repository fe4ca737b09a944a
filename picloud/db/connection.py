"""psycopg's connection on Trio, alone: no asyncio loop, no threads."""

from __future__ import annotations

import contextlib
from contextlib import aclosing
from typing import Any, TypeVar, cast

import psycopg
import trio
from psycopg import capabilities, pq
from psycopg.abc import ConnDict, PQGen
from psycopg.conninfo import conninfo_attempts, conninfo_to_dict, make_conninfo, timeout_from_conninfo
from psycopg.rows import TupleRow

from picloud.db.dsn import complete_dsn
from picloud.db.outage import translate, translate_connect
from picloud.db.readiness import Mutex, drive, drive_connecting
from picloud.errors import DatabaseUnavailable

T = TypeVar("T")

CANCEL_GRACE = 5.0
"""Seconds the server gets to give up a cancelled statement before the connection is dropped."""

CANCEL_AGAIN = 0.25
"""Seconds until the cancel is repeated: psycopg may have sent a second command since (PREPARE, then EXECUTE)."""

PREPARE_AFTER = 5
"""Executions of a statement on one connection before it is prepared."""


async def connect(
    dsn: str,
    *,
    autocommit: bool = True,
    prepare: bool = True,
    application_name: str = "picloud",
    timeout: float = 5.0,
) -> Connection:
    """Open a connection.

    Units: `timeout` in seconds for each address the host resolves to; libpq's minimum of 2 holds.
    Raises: DatabaseUnavailable, DatabaseMisconfigured.
    """
    complete = complete_dsn(dsn, application_name=application_name, timeout=timeout)
    try:
        connection = await Connection.open(complete)
    except psycopg.Error as error:
        raise translate_connect(error, dsn) from error
    connection._autocommit = autocommit  # as psycopg's own connect does: nothing is sent
    connection.prepare_threshold = PREPARE_AFTER if prepare else None
    return connection


class Connection(psycopg.AsyncConnection[TupleRow]):
    """A connection for one task at a time (a lock makes others wait).

    A cancelled statement is cancelled on the server and drained, so that the connection stays usable. An outage closes
    the connection and surfaces as DatabaseUnavailable; every other error stays psycopg's.
    """

    def __init__(self, pgconn: pq.abc.PGconn, *args: Any, **kwargs: Any) -> None:
        super().__init__(pgconn, *args, **kwargs)
        self.lock = cast(Any, Mutex())

    @classmethod
    async def open(cls, conninfo: str) -> Connection:
        """Try each host and address of `conninfo` in turn. Raises: psycopg.Error, the last one."""
        parameters = conninfo_to_dict(conninfo)
        timeout = timeout_from_conninfo(parameters)
        failure: psycopg.Error = psycopg.OperationalError("no host to connect to")
        for attempt in await _resolve(parameters):
            try:
                with trio.fail_after(timeout):
                    return await drive_connecting(cls._connect_gen(make_conninfo("", **attempt)))
            except trio.TooSlowError:
                failure = psycopg.errors.ConnectionTimeout(f"no answer within {timeout} s")
            except psycopg.Error as error:
                failure = error
        raise failure

    async def wait(self, gen: PQGen[T], interval: float = 0.0, timeout: float | None = None) -> T:
        """Run one of psycopg's generators; psycopg calls this for every statement."""
        with trio.move_on_after(float("inf") if timeout is None else timeout):
            return await self._run(gen)
        raise psycopg.errors._WaitTimeout("wait timeout expired")  # what psycopg's notifies() expects

    async def receive_notifies(self, timeout: float | None = None) -> list[psycopg.Notify]:
        """Wait for notifications; return all that came at once, none after `timeout` seconds."""
        async with aclosing(self.notifies(timeout=timeout, stop_after=1)) as notifies:
            return [notify async for notify in notifies]

    async def cancel_safe(self, *, timeout: float = CANCEL_GRACE) -> None:
        """Ask the server to cancel the running statement, over a connection of its own."""
        if not self._should_cancel():
            return
        if not capabilities.has_cancel_safe():  # libpq before 17
            await trio.to_thread.run_sync(self.cancel)
            return
        try:
            with trio.fail_after(timeout):
                await drive_connecting(self._cancel_gen())
        except trio.TooSlowError:
            raise psycopg.errors.CancellationTimeout("cancellation timeout expired") from None

    async def close(self) -> None:
        """Close the socket; a task that waits on it gets DatabaseUnavailable."""
        if not self.closed:
            self._closed = True
            self.drop()

    def drop(self) -> None:
        """Close without a word to the server: for connections whose state is not known."""
        with contextlib.suppress(psycopg.OperationalError, OSError):  # broken before: no socket to announce
            trio.lowlevel.notify_closing(self.pgconn.socket)
        self.pgconn.finish()

    async def _run(self, gen: PQGen[T]) -> T:
        try:
            return await drive(gen, self.pgconn.socket)
        except trio.Cancelled:
            if self.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                await self._cancel_statement(gen)
            raise
        except psycopg.Error as error:
            outage = translate(error)
            if outage is None:
                raise
            self.drop()
            raise outage from error

    async def _cancel_statement(self, gen: PQGen[Any]) -> None:
        """Cancel on the server and read what still comes; drop the connection when that takes too long."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + CANCEL_GRACE) as grace:
            try:
                await self._drain_cancelled(gen)
            except psycopg.errors.QueryCanceled:
                return
            except psycopg.Error:
                # the statement failed for a reason of its own just before: only a lost connection matters
                if self.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                    self.drop()
        if grace.cancelled_caught:
            self.drop()

    async def _drain_cancelled(self, gen: PQGen[Any]) -> None:
        while True:
            await self.cancel_safe()
            with trio.move_on_after(CANCEL_AGAIN):
                await drive(gen, self.pgconn.socket)
                return

    def _check_connection_ok(self) -> None:
        if self.closed:
            raise DatabaseUnavailable("the connection to the database is closed")
        super()._check_connection_ok()


async def _resolve(parameters: ConnDict) -> list[ConnDict]:
    """Return one set of parameters per host and address; name look-ups block, so they run in a thread."""
    if str(parameters.get("host", "/")).startswith("/") and "," not in str(parameters.get("host", "")):
        return [parameters]
    return await trio.to_thread.run_sync(conninfo_attempts, parameters, abandon_on_cancel=True)
