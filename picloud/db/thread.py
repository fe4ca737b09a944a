"""Connections for handler threads, which cannot await: one blocking connection per thread."""

from __future__ import annotations

import threading
from typing import TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

from picloud.db.connection import PREPARE_AFTER
from picloud.db.dsn import complete_dsn
from picloud.db.outage import translate, translate_connect
from picloud.errors import DatabaseUnavailable

T = TypeVar("T")


class ThreadConnection(psycopg.Connection[TupleRow]):
    """A blocking connection with the same errors as `picloud.db.connection.Connection`."""

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Run one of psycopg's generators; psycopg calls this for every statement."""
        try:
            return super().wait(gen, interval, timeout)
        except psycopg.Error as error:
            outage = translate(error)
            if outage is None:
                raise
            self.pgconn.finish()
            raise outage from error

    def _check_connection_ok(self) -> None:
        if self.closed:
            raise DatabaseUnavailable("the connection to the database is closed")
        super()._check_connection_ok()


class ThreadConnections:
    """Give each calling thread an autocommit connection of its own.

    Units: `timeout` in seconds, for connecting.
    """

    def __init__(
        self, dsn: str, *, prepare: bool = True, application_name: str = "picloud-handler", timeout: float = 5.0
    ) -> None:
        self._dsn = dsn
        self._conninfo = complete_dsn(dsn, application_name=application_name, timeout=timeout)
        self._prepare_threshold = PREPARE_AFTER if prepare else None
        self._own = threading.local()
        self._all: dict[threading.Thread, ThreadConnection] = {}
        self._lock = threading.Lock()
        self._closed = False

    def get(self) -> ThreadConnection:
        """Return the calling thread's connection, a new one when it has none or its last one broke.

        Raises: DatabaseUnavailable, DatabaseMisconfigured.
        """
        connection: ThreadConnection | None = getattr(self._own, "connection", None)
        if connection is None or connection.closed:
            connection = self._own.connection = self._connect()
            self._remember(connection)
        elif connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.rollback()  # a handler was interrupted inside a transaction
        return connection

    def close_all(self) -> None:
        """Close every thread's connection; call it when the threads are done with them."""
        with self._lock:
            self._closed = True
            connections = list(self._all.values())
            self._all.clear()
        for connection in connections:
            connection.close()

    def _connect(self) -> ThreadConnection:
        if self._closed:
            raise DatabaseUnavailable("the handlers' database connections are closed")
        try:
            return ThreadConnection.connect(self._conninfo, autocommit=True, prepare_threshold=self._prepare_threshold)
        except psycopg.Error as error:
            raise translate_connect(error, self._dsn) from error

    def _remember(self, connection: ThreadConnection) -> None:
        with self._lock:
            for thread in [thread for thread in self._all if not thread.is_alive()]:
                self._all.pop(thread).close()
            self._all[threading.current_thread()] = connection
