"""Assembly: the supervision tree of one node, put together from its parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar
from uuid import UUID

import trio

from picloud.actors import runtime
from picloud.actors.consumer import Consumer, ConsumerConfig
from picloud.actors.cron import Cron, CronConfig
from picloud.actors.database import Database
from picloud.actors.delivering import DeliveryHandling
from picloud.actors.handling import MessageHandling
from picloud.actors.janitor_store import make_janitor
from picloud.actors.library import Library
from picloud.actors.outbox import Outbox, OutboxConfig
from picloud.actors.pulse import Guard, Pulse, PulseConfig
from picloud.actors.reclaim import Reclaim, ReclaimConfig
from picloud.actors.recorder import Recorder, RecorderConfig
from picloud.actors.recording import Recording, keep_as_recorded
from picloud.actors.roster import Roster, RosterConfig, name_consumer
from picloud.actors.running import Running, RunningConfig
from picloud.actors.runtime import Backoff, ChildSpec, DynamicSupervisor, Journal, Supervisor
from picloud.actors.smtp import SmtpReceiver
from picloud.actors.stores import PoolCronStore, PoolOutboxStore, PoolQueueStore
from picloud.actors.tree_text import render_tree
from picloud.actors.wakes import QueueKey, QueueWakes
from picloud.actors.wakeup import Wakeup, WakeupConfig
from picloud.config import Settings
from picloud.db.connection import Connection
from picloud.db.cron_fires import Fired
from picloud.db.http_triggers import list_routes
from picloud.db.messages import ReclaimedQueue, Sent, list_due_queues, reclaim_messages
from picloud.db.pool import Pool
from picloud.db.running import CancelWish, OwnExecution, publish_running
from picloud.db.scripts import list_script_heads, load_scripts
from picloud.db.triggers import fingerprint_queue_triggers, list_queue_triggers
from picloud.engine import Engine, Outcome
from picloud.errors import ActorNotFound, Conflict, DatabaseUnavailable, ScriptNotFound
from picloud.types import AppId, NewMessage, QueueTrigger, Script, ScriptId

T = TypeVar("T")

DEFAULT_VISIBILITY_TIMEOUT = 30
"""Seconds; the lease of messages whose queue has no trigger any more."""

CONSUMER_BACKOFF = Backoff(base=0.05, cap=15.0)

DATABASE_PATH = "/picloud/database"
PING_SECS = 2.0
"""How long a probe of readiness waits for the database; the probe itself has a limit, too."""
SERVER_PATH = "/picloud/server"


@dataclass(frozen=True, slots=True)
class Parts:
    """What the tree is made of, besides itself."""

    settings: Settings
    pool: Pool
    connect: Callable[[], Awaitable[Connection]]
    engine: Engine
    gate: trio.CapacityLimiter
    """Worker threads that run handlers at once."""
    library: Library
    wakes: QueueWakes
    node_id: UUID
    on_outcomes: Callable[[Sequence[Outcome]], None]
    journal: Journal
    recording: Recording | None = None
    """Where `on_outcomes` puts what is recorded; None: nothing is."""
    connect_recorder: Callable[[], Awaitable[Connection]] | None = None
    smtp: SmtpReceiver | None = None
    revive_database: Callable[[], Awaitable[None]] | None = None
    hang_guard: Guard | None = None
    """Ends the process when the event loop does not turn any more."""
    restart_backoff: Backoff = CONSUMER_BACKOFF
    """Of consumers that crash by a bug."""


class Stoppable(Protocol):
    """The HTTP server, and the receiver of mails."""

    async def run(self, *, task_status: trio.TaskStatus[None] = ...) -> None: ...
    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class NodeTree:
    """The tree, and what others may do to it."""

    root: Supervisor
    roster: Roster
    outbox: Outbox
    server: Stoppable | None
    pool: Pool
    smtp: Stoppable | None = None

    def close_intake(self) -> None:
        """Accept no request and no mail and claim no message any more; what runs goes on."""
        for server in filter(None, (self.server, self.smtp)):
            server.stop()
        self.roster.close()
        self.outbox.close()

    def snapshot(self, path: str | None, depth: int | None) -> dict[str, Any] | None:
        """Return the tree below `path` as JSON, `depth` levels deep; None where there is no such path."""
        try:
            return self.root.snapshot(path, depth).to_json()
        except runtime.ActorNotFound:
            return None

    def render(self, path: str | None, depth: int | None) -> bytes | None:
        """Return the same as JSON text; quick where there are ten thousand actors."""
        try:
            return render_tree(self.root, path, depth)
        except runtime.ActorNotFound:
            return None

    async def restart(self, path: str) -> None:
        """Restart one actor. Raises: ActorNotFound, Conflict."""
        if f"{SERVER_PATH}/".startswith(f"{path.rstrip('/')}/"):
            raise Conflict(f"{path} cannot be restarted by a request: the server would wait for its own answer")
        try:
            await self.root.restart(path)
        except runtime.ActorNotFound as error:
            raise ActorNotFound(f"no actor at {path}") from error
        except runtime.RuntimeActorError as error:
            raise Conflict(f"{path} cannot be restarted: {error}") from error

    async def readiness(self) -> list[str]:
        """Return why the node cannot serve; consumers do not count: their trouble is one script's, not the node's."""
        reasons = [
            f"{path}: {health.error}"
            for path, health in self.root.degraded()
            if not path.startswith("/picloud/consumers")
        ]
        if self.roster.closed:
            reasons.append("the node is shutting down")
        if not any(reason.startswith(DATABASE_PATH) for reason in reasons):
            reasons += await self._ask_database()
        return reasons

    async def _ask_database(self) -> list[str]:
        with trio.move_on_after(PING_SECS):
            try:
                await self.pool.ping()
            except DatabaseUnavailable as error:
                return [f"{DATABASE_PATH}: {error}"]
            return []
        return [f"{DATABASE_PATH}: no answer within {PING_SECS:g} s"]


def build_tree(parts: Parts, server: Stoppable | None = None) -> NodeTree:
    """Return the tree of a node; `server` starts last and stops first."""
    settings = parts.settings
    database = Database(parts.pool, revive=parts.revive_database)
    wakeup = Wakeup(
        parts.wakes,
        parts.connect,
        partial(_read, parts.pool, list_due_queues),
        WakeupConfig(poll_interval=settings.queue_poll_interval, listens=settings.wake_by == "listen"),
        parts.node_id,
    )
    roster = _roster(parts)
    outbox = _outbox(parts)
    children = [
        ChildSpec("database", database.run),
        ChildSpec("wakeup", wakeup.run),
        _services(parts, outbox).as_child(),
        roster.consumers.as_child(),
    ]
    if server is not None:
        children.append(ChildSpec("server", server.run, shutdown=settings.drain_secs + 1, on_shutdown=server.stop))
    root = Supervisor(
        "picloud", children, strategy="rest_for_one", max_restarts=5, max_seconds=30.0, journal=parts.journal
    )
    return NodeTree(root, roster, outbox, server, parts.pool, parts.smtp)


def wake_for_messages(wakes: QueueWakes, app_id: AppId, messages: Sequence[NewMessage]) -> None:
    """Wake the consumers of messages that handlers sent, once they are committed."""
    soonest: dict[str, float] = {}
    for message in messages:
        due_in = _guess_due(message)
        soonest[message.queue_name] = min(due_in, soonest.get(message.queue_name, due_in))
    for queue, due_in in soonest.items():
        wakes.sent(QueueKey(app_id, queue), due_in)


def wake_for_sent(wakes: QueueWakes, app_id: AppId, messages: Sequence[NewMessage], sent: Sequence[Sent]) -> None:
    """Wake the consumers of messages that were sent from outside, once they are committed."""
    soonest: dict[str, float] = {}
    for message, one in zip(messages, sent, strict=True):
        if one.due_in is not None:
            soonest[message.queue_name] = min(one.due_in, soonest.get(message.queue_name, one.due_in))
    for queue, due_in in soonest.items():
        wakes.sent(QueueKey(app_id, queue), due_in)


def _guess_due(message: NewMessage) -> float:
    """By this node's clock: only a hint of when to look."""
    if message.deliver_after is None:
        return message.delay
    return (message.deliver_after - datetime.now(UTC)).total_seconds()


def make_library(pool: Pool, wakes: QueueWakes, *, poll_interval: float) -> Library:
    """Return the node's library of scripts, reading through `pool`."""
    return Library(
        partial(_read, pool, list_script_heads),
        partial(_load_scripts, pool),
        partial(_read, pool, list_routes),
        wakes.watch("scripts", "triggers"),
        poll_interval=poll_interval,
    )


def _outbox(parts: Parts) -> Outbox:
    settings = parts.settings
    return Outbox(
        PoolOutboxStore(parts.pool),
        DeliveryHandling(
            parts.engine,
            parts.gate,
            parts.library,
            max_depth=settings.max_trigger_depth,
            slice_secs=settings.slice_secs,
            on_outcomes=parts.on_outcomes,
        ),
        parts.wakes.watch("outbox"),
        OutboxConfig(
            concurrency=settings.outbox_concurrency,
            reclaim_interval=settings.queue_reclaim_interval_ms / 1000,
            slice_secs=settings.slice_secs,
        ),
        on_sent=partial(wake_for_messages, parts.wakes),
        on_outbox=partial(parts.wakes.changed, "outbox"),
        amend=parts.recording.amend if parts.recording is not None else keep_as_recorded,
    )


def _services(parts: Parts, outbox: Outbox) -> Supervisor:
    reclaim = Reclaim(
        partial(_reclaim, parts.pool),
        ReclaimConfig(interval=parts.settings.queue_reclaim_interval_ms / 1000),
        on_released=partial(_wake_released, parts.wakes),
    )
    cron = Cron(
        PoolCronStore(parts.pool),
        # a trigger that was made or changed may be due sooner than the one it sleeps for
        parts.wakes.watch("triggers"),
        CronConfig(),
        on_fired=partial(_wake_fired, parts.wakes),
    )
    janitor = make_janitor(parts.connect, parts.settings, on_expired=partial(parts.wakes.changed, "outbox"))
    pulse = Pulse(parts.hang_guard, PulseConfig())
    running = Running(
        parts.engine,
        partial(_publish_running, parts.pool, parts.node_id),
        parts.wakes.watch("cancels"),
        RunningConfig(),
    )
    return Supervisor(
        "services",
        [
            ChildSpec("pulse", pulse.run),
            *_recorder(parts),
            ChildSpec("library", parts.library.run),
            ChildSpec("reclaim", reclaim.run),
            ChildSpec("running", running.run),
            ChildSpec("outbox", outbox.run, shutdown=parts.settings.drain_secs, on_shutdown=outbox.drain),
            ChildSpec("cron", cron.run),
            ChildSpec("janitor", janitor.run),
            *([parts.smtp.as_child()] if parts.smtp else []),
        ],
    )


def _recorder(parts: Parts) -> list[ChildSpec]:
    if parts.recording is None:
        return []
    connect = parts.connect_recorder or parts.connect
    recorder = Recorder(parts.recording, connect, parts.wakes.watch("triggers"), RecorderConfig())
    return [ChildSpec("recorder", recorder.run)]


def _roster(parts: Parts) -> Roster:
    roster = Roster(
        partial(_read, parts.pool, fingerprint_queue_triggers),
        partial(_list_triggers, parts.pool),
        partial(_make_consumer, parts),
        # a new version of a script restarts its consumers
        parts.wakes.watch("triggers", "scripts"),
        RosterConfig(poll_interval=parts.settings.roster_poll_interval),
        on_stopped=lambda trigger: parts.wakes.forget(QueueKey(trigger.app_id, trigger.queue_name)),
    )
    roster.consumers = DynamicSupervisor(
        "consumers",
        children=[ChildSpec("roster", roster.run)],
        max_restarts=9,
        max_seconds=300.0,
        backoff=parts.restart_backoff,
    )
    return roster


async def _make_consumer(parts: Parts, trigger: QueueTrigger) -> ChildSpec:
    key = QueueKey(trigger.app_id, trigger.queue_name)
    script = await _find_script(parts.library, trigger)
    compiled = await trio.to_thread.run_sync(parts.engine.compile, script.name, script.source)
    consumer = Consumer(
        trigger,
        PoolQueueStore(parts.pool, trigger),
        MessageHandling(
            parts.engine,
            parts.gate,
            trigger,
            compiled,
            slice_secs=parts.settings.slice_secs,
            on_outcomes=parts.on_outcomes,
        ),
        parts.wakes.mailbox(key),
        ConsumerConfig(slice_secs=parts.settings.slice_secs),
        on_sent=partial(wake_for_messages, parts.wakes, trigger.app_id),
        on_retry=partial(parts.wakes.wake_in, key),
        on_outbox=partial(parts.wakes.changed, "outbox"),
        amend=parts.recording.amend if parts.recording is not None else keep_as_recorded,
    )
    return ChildSpec(
        name_consumer(trigger),
        consumer.run,
        restart="transient",
        shutdown=parts.settings.drain_secs,
        on_shutdown=consumer.drain,
        introspect=consumer,
    )


async def _find_script(library: Library, trigger: QueueTrigger) -> Script:
    script = library.find(trigger.app_id, trigger.script_name)
    if script is None or script.version != trigger.script_version:
        await library.refresh()
        script = library.find(trigger.app_id, trigger.script_name)
    if script is None:
        raise ScriptNotFound(f"script '{trigger.script_name}' is gone")
    return script


async def _read(pool: Pool, function: Callable[[Connection], Awaitable[T]]) -> T:
    async with pool.connection() as conn:
        return await function(conn)


async def _list_triggers(pool: Pool) -> list[QueueTrigger]:
    async with pool.connection() as conn:
        return await list_queue_triggers(conn, only_enabled=True)


async def _load_scripts(pool: Pool, ids: Sequence[ScriptId]) -> list[Script]:
    async with pool.connection() as conn:
        return await load_scripts(conn, ids)


async def _publish_running(pool: Pool, node_id: UUID, running: Sequence[OwnExecution]) -> list[CancelWish]:
    async with pool.connection() as conn:
        return await publish_running(conn, node_id, running)


async def _reclaim(pool: Pool, limit: int) -> list[ReclaimedQueue]:
    async with pool.connection() as conn:
        return await reclaim_messages(conn, default_timeout_secs=DEFAULT_VISIBILITY_TIMEOUT, limit=limit)


def _wake_released(wakes: QueueWakes, queue: ReclaimedQueue) -> None:
    wakes.sent(QueueKey(queue.app_id, queue.queue_name), 0.0)


def _wake_fired(wakes: QueueWakes, fired: Fired) -> None:
    if fired.deliveries:
        wakes.changed("outbox")
    for one in fired.sent:
        wake_for_sent(wakes, one.app_id, one.messages, one.sent)
