"""A node to measure: the product's own tree on a throw-away database."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import trio
from uuid_utils.compat import uuid7

from picloud.actors.assembly import CONSUMER_BACKOFF, NodeTree, Parts, build_tree, make_library, wake_for_sent
from picloud.actors.recording import Recording
from picloud.actors.runtime import Backoff, Journal
from picloud.actors.wakes import QueueKey, QueueWakes
from picloud.actors.world import NodeWorld
from picloud.config import Settings
from picloud.db.apps import insert_app
from picloud.db.connection import connect
from picloud.db.embedded import EmbeddedPostgres
from picloud.db.migrate import migrate
from picloud.db.pool import Pool
from picloud.db.scripts import put_script
from picloud.db.thread import ThreadConnections
from picloud.db.triggers import QueueTriggerSettings, insert_queue_trigger, update_queue_trigger
from picloud.engine import Engine, EngineSettings, Outcome, QueueEvent
from picloud.engine.sandbox import prepare_process
from picloud.errors import InvalidInput
from picloud.types import App, QueueTrigger


@dataclass(slots=True)
class BenchNode:
    """A running tree without a server, and what a case needs to feed it."""

    tree: NodeTree
    parts: Parts
    app: App
    first_handler_at: float | None = None
    """`time.perf_counter()` of the first handler's start since this was None."""
    listeners: list[Callable[[Sequence[Outcome]], None]] = field(default_factory=list)
    """What else takes the outcomes, on the handlers' threads."""
    started_at: dict[str, float] = field(default_factory=dict)
    """`time.perf_counter()` of the latest handler's start, by queue; apps share it: their queues' names differ."""
    records: bool = True
    """Whether executions are recorded, as a product's node does."""

    def note_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Take what a slice led to, right at its end."""
        if not outcomes:
            return
        for listener in self.listeners:
            listener(outcomes)
        started_at = time.perf_counter() - sum([outcome.duration for outcome in outcomes])
        if self.first_handler_at is None:
            self.first_handler_at = started_at
        event = outcomes[0].job.event
        if isinstance(event, QueueEvent):
            self.started_at[event.queue] = started_at

    def expect_handlers(self) -> None:
        """Note the next handler's start as the first."""
        self.first_handler_at = None

    def beside(self, app: App) -> BenchNode:
        """Return the same node, for another app."""
        return replace(self, app=app)

    def is_running(self, queue: str) -> bool:
        """Return whether the queue's consumer is up."""
        shown = self.tree.snapshot(f"/picloud/consumers/{self.app.name}/{queue}", 0)
        return shown is not None and shown["status"] == "running"

    async def bind(self, script: str, source: str, queue: str, settings: QueueTriggerSettings) -> QueueTrigger:
        """Store a script and make it the consumer of a queue."""
        async with self.parts.pool.connection() as conn:
            await put_script(conn, self.app.id, script, source)
            trigger = await insert_queue_trigger(conn, self.app.id, script, queue, settings)
        self.parts.wakes.changed("scripts")
        self.parts.wakes.changed("triggers")
        return trigger

    async def switch(self, trigger: QueueTrigger, *, on: bool) -> None:
        """Enable or disable a trigger; the roster follows."""
        async with self.parts.pool.connection() as conn:
            settings = QueueTriggerSettings(enabled=on, concurrency=trigger.concurrency, batch_size=trigger.batch_size)
            await update_queue_trigger(conn, self.app.id, trigger.id, settings, script_id=trigger.script_id)
        self.parts.wakes.changed("triggers")

    def wake(self, queue: str) -> None:
        """Note that messages were committed."""
        self.parts.wakes.sent(QueueKey(self.app.id, queue), 0.0)

    def processed(self, queue: str) -> int:
        """Return how many messages the queue's consumer has handled and settled."""
        shown = self.tree.snapshot(f"/picloud/consumers/{self.app.name}/{queue}", 0)
        return int(shown["details"]["processed"]) if shown and shown["details"] else 0


@contextmanager
def throw_away_database(dsn: str | None) -> Iterator[str]:
    """Yield `dsn`, or that of an embedded server with default durability that is gone afterwards."""
    if dsn is not None:
        yield dsn
        return
    with tempfile.TemporaryDirectory(prefix="picloud-bench-", ignore_cleanup_errors=True) as folder:
        # the server's user must reach it where we are root
        Path(folder).chmod(0o711)
        with EmbeddedPostgres(Path(folder)) as postgres:
            yield postgres.dsn


@asynccontextmanager
async def bench_node(
    dsn: str,
    settings: Settings,
    *,
    on_outcomes: Callable[[Sequence[Outcome]], None] = lambda outcomes: None,
    restart_backoff: Backoff = CONSUMER_BACKOFF,
) -> AsyncIterator[BenchNode]:
    """Run a tree without a server on the database of `dsn`, in an app of its own."""
    prepare_process()
    wakes = QueueWakes()
    async with Pool(dsn, settings.db_pool_size, prepare=settings.db_prepare) as pool:
        async with pool.connection() as conn:
            await migrate(conn)
            app = await insert_app(conn, f"bench-{uuid7()}")
        library = make_library(pool, wakes, poll_interval=settings.roster_poll_interval)
        reads = ThreadConnections(dsn, prepare=settings.db_prepare)
        world = NodeWorld(library, reads, pool, trio.lowlevel.current_trio_token(), partial(wake_for_sent, wakes))
        engine = Engine(EngineSettings(), world)
        recording = Recording(settings.record_buffer_mb * 1024 * 1024)

        def note(outcomes: Sequence[Outcome]) -> None:
            node.note_outcomes(outcomes)
            on_outcomes(outcomes)
            if node.records:
                recording(outcomes)

        parts = Parts(
            settings=settings,
            pool=pool,
            connect=partial(connect, settings.listen_database_url or dsn, prepare=settings.db_prepare),
            connect_recorder=partial(connect, dsn, prepare=settings.db_prepare),
            engine=engine,
            gate=trio.CapacityLimiter(settings.max_executions),
            library=library,
            wakes=wakes,
            node_id=uuid7(),
            on_outcomes=note,
            journal=Journal(report=lambda report: None),
            restart_backoff=restart_backoff,
            recording=recording,
        )
        with contextlib.closing(engine):
            tree = build_tree(parts)
            node = BenchNode(tree, parts, app)
            with _without_group():
                async with trio.open_nursery() as nursery:
                    await nursery.start(tree.root.run)
                    yield node
                    tree.root.request_stop()
        reads.close_all()


@contextmanager
def _without_group() -> Iterator[None]:
    """Raise an error of a case as it is: its text is for the user."""
    try:
        yield
    except ExceptionGroup as group:
        failures = group.subgroup(InvalidInput)
        while failures is not None and isinstance(failures.exceptions[0], ExceptionGroup):
            failures = failures.exceptions[0]
        if failures is None:
            raise
        raise failures.exceptions[0] from None
