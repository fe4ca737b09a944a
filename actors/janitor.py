"""Janitor: drops what is past its retention, and says what keeps the database from clearing up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from typing import Protocol

import psycopg
import trio

from picloud.actors.retrying import OutageBackoff
from picloud.actors.runtime import HealthGauge
from picloud.db.janitor import BloatedTable, Pin
from picloud.errors import DatabaseUnavailable


class JanitorStore(Protocol):
    """What the janitor asks of the database, in one session. Each may raise DatabaseUnavailable.

    What takes a limit does one batch and returns how much it was.
    """

    async def try_lead(self) -> bool: ...

    async def expire_messages(self, limit: int) -> int: ...

    async def prune_dead_letters(self, limit: int) -> int: ...

    async def prune_script_versions(self, limit: int) -> int: ...

    async def prune_tokens(self, limit: int) -> int: ...

    async def drop_partitions(self) -> list[str]: ...

    async def list_bloated(self) -> list[BloatedTable]: ...

    async def list_pins(self) -> list[Pin]: ...


OpenStore = Callable[[], AbstractAsyncContextManager[JanitorStore]]
"""Opens a session of its own: leadership lasts as long as it."""


@dataclass(frozen=True, slots=True)
class JanitorConfig:
    """How often and how much."""

    interval: float = 60.0
    """Seconds between two sweeps, and between two tries to lead."""
    batch_size: int = 1000
    """Rows per statement; a sweep goes on until a batch comes back short."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did."""

    expired_messages: int = 0
    dead_letters: int = 0
    script_versions: int = 0
    tokens: int = 0
    partitions: tuple[str, ...] = ()
    bloated: tuple[BloatedTable, ...] = ()
    pins: tuple[Pin, ...] = ()


class Janitor:
    """Keep to the retention of queues, dead letters, executions, script versions and tokens.

    One janitor of the cluster works: it holds a lock of the database for as long as its session lives.
    """

    def __init__(
        self,
        open_store: OpenStore,
        config: JanitorConfig,
        *,
        on_expired: Callable[[], None] = lambda: None,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._open_store = open_store
        self._config = config
        self._on_expired = on_expired
        self._warn = warn
        self._warned: set[str] = set()
        self.leads = False
        self.health = HealthGauge()
        self.sweeps = 0
        self.last = Swept()
        self.totals = {"expired_messages": 0, "dead_letters": 0, "script_versions": 0, "tokens": 0, "partitions": 0}
        """What all sweeps of this node did."""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Sweep every `interval` seconds while leading; else try to lead as often."""
        task_status.started()
        backoff = OutageBackoff(self.health)
        while True:
            try:
                async with self._open_store() as store:
                    await self._work(store, backoff)
            except DatabaseUnavailable as error:
                await backoff.wait(error)
            else:
                await trio.sleep(self._config.interval)

    async def _work(self, store: JanitorStore, backoff: OutageBackoff) -> None:
        """Sweep for as long as the session lives; return at once where another one leads."""
        self.leads = await store.try_lead()
        backoff.ok()
        try:
            while self.leads:
                try:
                    await self.sweep(store)
                    backoff.ok()
                except psycopg.Error as error:
                    # a statement that the server refuses or cuts short (its own time limit, rights) is tried again at
                    # the next sweep: housekeeping must never cost a node its life
                    self.health.degraded(error)
                    self._tell([("sweep", f"a sweep failed: {error}")])
                await trio.sleep(self._config.interval)
        finally:
            self.leads = False

    async def sweep(self, store: JanitorStore) -> Swept:
        """Drop what is due, batch by batch; warn of what stands in the way, once."""
        expired = await self._exhaust(store.expire_messages)
        if expired:
            self._on_expired()
        self.last = Swept(
            expired_messages=expired,
            dead_letters=await self._exhaust(store.prune_dead_letters),
            script_versions=await self._exhaust(store.prune_script_versions),
            tokens=await self._exhaust(store.prune_tokens),
            partitions=tuple(await store.drop_partitions()),
            bloated=tuple(await store.list_bloated()),
            pins=tuple(await store.list_pins()),
        )
        self.sweeps += 1
        self._count(self.last)
        self._tell([*map(advise, self.last.bloated), *map(blame, self.last.pins)])
        return self.last

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        return {
            "interval": self._config.interval,
            "leads": self.leads,
            "sweeps": self.sweeps,
            **self.totals,
            "bloated": [asdict(table) for table in self.last.bloated],
            "pins": [asdict(pin) for pin in self.last.pins],
        }

    def _count(self, swept: Swept) -> None:
        for name in ("expired_messages", "dead_letters", "script_versions", "tokens"):
            self.totals[name] += getattr(swept, name)
        self.totals["partitions"] += len(swept.partitions)

    async def _exhaust(self, batch: Callable[[int], Awaitable[int]]) -> int:
        total = 0
        while True:
            count = await batch(self._config.batch_size)
            total += count
            if count < self._config.batch_size:
                return total

    def _tell(self, warnings: Sequence[tuple[str, str]]) -> None:
        for what, text in warnings:
            if what not in self._warned:
                self._warn(text)
        self._warned = {what for what, _ in warnings}


def advise(table: BloatedTable) -> tuple[str, str]:
    """Return what a warning of a table is about, and its text."""
    name = table.table_name
    return name, (
        f"table {name} has {table.dead} dead rows and {table.live} live ones, and is not vacuumed: "
        f"run 'vacuum {name}', and see whether autovacuum is on"
    )


def blame(pin: Pin) -> tuple[str, str]:
    """Return what a warning of something that pins dead rows is about, and its text."""
    what = f"{pin.kind} {pin.name}"
    age = "many transactions" if pin.age_secs is None else f"{pin.age_secs:.0f} s"
    whose = f" ({pin.application})" if pin.application else ""
    return what, f"{what}{whose} has kept dead rows from being cleared for {age}: queues slow down until it ends"
