"""Recorder: write what ran, in batches, on a connection of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import psycopg
import structlog
import trio
from psycopg import errors

from picloud.actors.recording import MAX_AMENDMENTS, Recording
from picloud.actors.retrying import OutageBackoff
from picloud.actors.runtime import HealthGauge, WakeMailbox
from picloud.db.connection import Connection
from picloud.db.execution_rows import Amendment, Chunk, amend_executions, write_chunks
from picloud.db.executions import ensure_partitions, list_record_policies
from picloud.errors import DatabaseUnavailable

_log = structlog.get_logger("picloud.actors")


@dataclass(frozen=True, slots=True)
class RecorderConfig:
    """Durations are seconds."""

    interval: float = 0.25
    """Between two batches: what ran is visible this late."""
    batch_bytes: int = 4 * 1024 * 1024
    """Of one transaction."""
    housekeeping: float = 3600.0
    """How often coming days' partitions are made, and policies read that no wake-up told of."""
    days_ahead: int = 2
    flush_timeout: float = 3.0
    """How long the last batch may take at shutdown."""


class Recorder:
    """Write what `recording` holds. An outage is waited for; meanwhile `recording` keeps within its bound."""

    def __init__(
        self,
        recording: Recording,
        connect: Callable[[], Awaitable[Connection]],
        wake: WakeMailbox,
        config: RecorderConfig,
    ) -> None:
        self.mailbox = wake
        self.health = HealthGauge()
        self.executions_written = self.logs_written = self.refused = 0
        self._recording = recording
        self._connect = connect
        self._config = config
        self._conn: Connection | None = None
        self._batch: list[Chunk] = []
        self._amendments: list[Amendment] = []
        self._tries = 0
        self._next_housekeeping = 0.0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write a batch at every interval; at the end write what there is."""
        task_status.started()
        backoff = OutageBackoff(self.health)
        self._next_housekeeping = trio.current_time()
        try:
            while True:
                try:
                    if trio.current_time() >= self._next_housekeeping:
                        await self._keep_house()
                    is_full = await self.write()
                except DatabaseUnavailable as error:
                    await self.hang_up()
                    await backoff.wait(error)
                    continue
                backoff.ok()
                # woken: an app may have another policy now
                if not is_full and await self.mailbox.wait(timeout=self._config.interval):
                    self._next_housekeeping = trio.current_time()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + self._config.flush_timeout):
                await self._flush()

    async def write(self) -> bool:
        """Write one batch, if there is anything; return whether it was a full one."""
        if not self._batch:
            # first, so that what they correct is written before
            self._amendments = [*self._amendments, *self._recording.take_amendments()][-MAX_AMENDMENTS:]
            self._batch, self._tries = self._recording.take(self._config.batch_bytes), 0
        if not self._batch:
            await self._amend()
            return False
        is_full = sum(chunk.size_bytes for chunk in self._batch) > self._config.batch_bytes // 2
        conn = await self._connection()
        self._tries += 1
        try:
            await write_chunks(conn, self._batch)
        except errors.UniqueViolation:
            if self._tries == 1:
                await self._write_one_by_one(conn)
            # else the answer to the try before was lost: that one had written all
        except psycopg.Error:
            await self._write_one_by_one(conn)
        self._note_written(self._batch)
        self._batch = []
        if not is_full:
            await self._amend()
        return is_full

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        figures = self._recording.figures()
        return {
            "executions_written": self.executions_written,
            "log_lines_written": self.logs_written,
            "executions_dropped": figures.executions_dropped,
            "log_lines_dropped": figures.logs_dropped,
            "buffered": figures.buffered,
            "buffered_bytes": figures.buffered_bytes,
        }

    async def _write_one_by_one(self, conn: Connection) -> None:
        """Leave out only what the database refuses."""
        batch, self._batch = self._batch, []
        while batch:
            try:
                await write_chunks(conn, batch[:1])
            except DatabaseUnavailable:
                self._batch, self._tries = batch, 0
                raise
            except psycopg.Error as error:
                _log.error("executions not recorded", count=batch[0].execution_count, error=str(error))
                self._recording.release(batch[:1], written=False)
            else:
                self._note_written(batch[:1])
            batch = batch[1:]

    def _note_written(self, chunks: Sequence[Chunk]) -> None:
        self._recording.release(chunks, written=True)
        self.executions_written += sum(chunk.execution_count for chunk in chunks)
        self.logs_written += sum(chunk.log_count for chunk in chunks)

    async def _amend(self) -> None:
        """Apply corrections, once all is written that they may be about."""
        if not self._amendments:
            return
        conn = await self._connection()
        try:
            await amend_executions(conn, self._amendments)
        except psycopg.Error as error:
            _log.error("executions not amended", count=len(self._amendments), error=str(error))
        self._amendments = []

    async def _keep_house(self) -> None:
        conn = await self._connection()
        self._recording.policies = await list_record_policies(conn)
        await ensure_partitions(conn, self._config.days_ahead)
        self._next_housekeeping = trio.current_time() + self._config.housekeeping

    async def _connection(self) -> Connection:
        if self._conn is None or self._conn.closed:
            self._conn = await self._connect()
        return self._conn

    async def hang_up(self) -> None:
        """Close the connection; the next batch opens another."""
        conn, self._conn = self._conn, None
        if conn is not None:
            await conn.close()

    async def _flush(self) -> None:
        """Write all that is held; what an outage keeps from being written is lost with the process."""
        try:
            while self._batch or self._recording.figures().buffered:
                await self.write()
            await self.write()
        except DatabaseUnavailable as error:
            self.health.degraded(error)
        finally:
            await self.hang_up()
