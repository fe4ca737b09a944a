"""What the janitor asks of the database, in a session of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog
import trio

from picloud.actors.janitor import Janitor, JanitorConfig
from picloud.config import Settings
from picloud.db.connection import Connection
from picloud.db.executions import drop_partitions
from picloud.db.janitor import (
    BloatedTable,
    Pin,
    expire_messages,
    list_bloated,
    list_pins,
    prune_dead_letters,
    prune_script_versions,
    prune_tokens,
    try_lead,
)

_log = structlog.get_logger("picloud.actors")


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept, and from when on the database's housekeeping is warned of."""

    executions_days: int
    dead_letters_days: float
    script_versions: int
    pin_warning: float
    """Seconds."""
    bloat_least: int = 50_000
    """Dead rows of a table below which nobody is warned."""
    bloat_patience: float = 600.0
    """Seconds that autovacuum may take to come by."""


@dataclass(frozen=True, slots=True)
class SessionJanitorStore:
    """The janitor's statements; each is its own transaction."""

    conn: Connection
    retention: Retention
    locks: bool
    """False: behind a pool that gives no session of ours; two janitors at once are harmless."""

    async def try_lead(self) -> bool:
        """Become the janitor of the cluster, unless another one is."""
        return not self.locks or await try_lead(self.conn)

    async def expire_messages(self, limit: int) -> int:
        """Make dead letters of messages that waited for too long."""
        return await expire_messages(self.conn, limit)

    async def prune_dead_letters(self, limit: int) -> int:
        """Drop old dead letters."""
        return await prune_dead_letters(self.conn, limit, keep_days=self.retention.dead_letters_days)

    async def prune_script_versions(self, limit: int) -> int:
        """Drop old versions of scripts."""
        return await prune_script_versions(self.conn, limit, keep=self.retention.script_versions)

    async def prune_tokens(self, limit: int) -> int:
        """Drop expired tokens."""
        return await prune_tokens(self.conn, limit)

    async def drop_partitions(self) -> list[str]:
        """Drop old days of executions and their logs."""
        return await drop_partitions(self.conn, self.retention.executions_days)

    async def list_bloated(self) -> list[BloatedTable]:
        """Return tables that nobody vacuums."""
        retention = self.retention
        return await list_bloated(self.conn, least=retention.bloat_least, patience=retention.bloat_patience)

    async def list_pins(self) -> list[Pin]:
        """Return what keeps dead rows from being cleared."""
        return await list_pins(self.conn, older_than=self.retention.pin_warning)


@asynccontextmanager
async def open_janitor_store(
    connect: Callable[[], Awaitable[Connection]], retention: Retention, *, locks: bool
) -> AsyncIterator[SessionJanitorStore]:
    """Open a session; its end ends the leadership."""
    conn = await connect()
    try:
        yield SessionJanitorStore(conn, retention, locks)
    finally:
        with trio.CancelScope(shield=True):
            await conn.close()


def make_janitor(
    connect: Callable[[], Awaitable[Connection]], settings: Settings, *, on_expired: Callable[[], None]
) -> Janitor:
    """Return the node's janitor; `connect` opens a connection outside of the pool."""
    retention = Retention(
        executions_days=settings.retain_executions_days,
        dead_letters_days=settings.retain_dead_letters_days,
        script_versions=settings.retain_script_versions,
        pin_warning=settings.pin_warning_secs,
    )
    return Janitor(
        partial(open_janitor_store, connect, retention, locks=settings.wake_by == "listen"),
        JanitorConfig(interval=settings.janitor_interval_secs),
        on_expired=on_expired,
        warn=_log.warning,
    )
