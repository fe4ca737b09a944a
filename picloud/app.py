"""Composition root: settings → database → tree → trio.run. The only file that sees all rooms.

Everything heavy is imported when a node runs, so that the command line stays quick.
"""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from picloud import cli
from picloud.cli.entry import Entrypoints, NodeInfo, NodeOptions

if TYPE_CHECKING:
    import socket

    import trio

    from picloud.actors.assembly import NodeTree, Parts
    from picloud.actors.runtime import RestartIntensityExceeded
    from picloud.actors.serving import Serving
    from picloud.actors.smtp import SmtpReceiver
    from picloud.actors.wakes import QueueWakes
    from picloud.config import Settings
    from picloud.db.connection import Connection
    from picloud.db.deployment import DeploymentDiff
    from picloud.db.embedded import EmbeddedPostgres
    from picloud.db.pool import Pool
    from picloud.engine import Engine, EngineSettings
    from picloud.http.node import Node as HttpNode

EXIT_RESTART_INTENSITY = 70
"""The tree gave up on an actor: EX_SOFTWARE of sysexits.h."""
NODE_CONNECTIONS = "picloud-node"
_HEAVY_MODULES = ("picloud.db.migrate", "picloud.db.deployment", "picloud.actors.assembly", "picloud.http.app")


def main() -> None:
    """Run the command line."""
    cli.main(Entrypoints(run_node=run_node))


def run_node(settings: Settings, options: NodeOptions) -> int:
    """Run one node until it is told to stop; return the process's exit code.

    Raises: PicloudError when it cannot start.
    """
    import trio

    from picloud.actors.server import bind
    from picloud.logs import configure_logs

    configure_logs(settings.log_format, settings.log_level)
    with ExitStack() as stack:
        listener = bind(settings.host, settings.port)
        stack.callback(listener.close)
        mail_listener = _bind_smtp(settings, stack)
        database = _open_database(settings, stack)
        return trio.run(_Node(settings, options, database, listener, mail_listener).run)


def _bind_smtp(settings: Settings, stack: ExitStack) -> socket.socket | None:
    """Return the socket for mails, where there is a port for them."""
    if settings.smtp_port is None:
        return None
    from picloud.actors.server import bind
    from picloud.actors.smtp import SETTINGS, require_smtp

    require_smtp()
    listener = bind(settings.smtp_host, settings.smtp_port, settings=SETTINGS)
    stack.callback(listener.close)
    return listener


@dataclass(frozen=True, slots=True)
class _DatabaseChoice:
    dsn: str
    described: str
    embedded: EmbeddedPostgres | None


def _open_database(settings: Settings, stack: ExitStack) -> _DatabaseChoice:
    """Take DATABASE_URL where it is set; else start the embedded server, and stop it at the end."""
    if settings.database_url is not None:
        from picloud.db.dsn import redact_dsn

        return _DatabaseChoice(settings.database_url, redact_dsn(settings.database_url), None)
    from picloud.db.embedded import EmbeddedPostgres

    embedded = EmbeddedPostgres(settings.home, binaries=settings.pg_bin)
    stack.callback(embedded.stop)
    with ThreadPoolExecutor(1) as beside:
        dsn = beside.submit(embedded.start)
        # the server starts in its own process: our modules load meanwhile
        for module in _HEAVY_MODULES:
            importlib.import_module(module)
        return _DatabaseChoice(dsn.result(), f"embedded PostgreSQL {embedded.status().version}", embedded)


@dataclass(slots=True)
class _Node:
    """One life of a node."""

    settings: Settings
    options: NodeOptions
    database: _DatabaseChoice
    listener: socket.socket
    mail_listener: socket.socket | None

    async def run(self) -> int:
        from picloud.db.pool import Pool

        settings = self.settings
        token = await self._prepare()
        async with Pool(
            self.database.dsn,
            settings.db_pool_size,
            acquire_timeout=settings.db_acquire_timeout,
            prepare=settings.db_prepare,
            application_name=NODE_CONNECTIONS,
        ) as pool:
            with self._parts(pool) as parts:
                deployed = await self._deploy(pool, parts.engine)
                life = _Life(self._tree(parts), parts.engine, self.settings.drain_secs)
                return await life.run(
                    lambda: self.options.announce(
                        NodeInfo(
                            url=_client_url(self.listener),
                            token=token,
                            home=self.settings.home,
                            database=self.database.described,
                            deployed=deployed,
                            pid=os.getpid(),
                            smtp=None if self.mail_listener is None else _client_url(self.mail_listener, "smtp"),
                        )
                    )
                )

    # --- before the tree

    async def _prepare(self) -> str | None:
        """Bring the schema up to date; return the first token where there was none."""
        from picloud.db.migrate import migrate
        from picloud.db.tokens import ensure_token

        conn = await self._first_connection()
        try:
            await migrate(conn)
            return await ensure_token(conn, "first start")
        finally:
            await conn.close()

    async def _first_connection(self) -> Connection:
        """Wait for a database that starts at the same time; one that never comes is an error."""
        import structlog
        import trio

        from picloud.db.connection import connect
        from picloud.errors import DatabaseUnavailable

        deadline = trio.current_time() + self.settings.database_patience
        while True:
            try:
                return await connect(self.database.dsn, prepare=self.settings.db_prepare)
            except DatabaseUnavailable as error:
                if trio.current_time() >= deadline:
                    raise
                structlog.get_logger().warning("waiting for the database", error=str(error))
            await trio.sleep(1.0)

    async def _deploy(self, pool: Pool, engine: Engine) -> DeploymentDiff | None:
        import trio

        from picloud.db.deployment import apply_deployment
        from picloud.manifest import check_scripts

        manifest = self.options.manifest
        if manifest is None:
            return None
        await trio.to_thread.run_sync(check_scripts, manifest, engine.compile)
        async with pool.connection() as conn:
            return await apply_deployment(conn, manifest)

    # --- the tree

    @contextmanager
    def _parts(self, pool: Pool) -> Iterator[Parts]:
        """Build what the tree is made of; close it when the tree has ended."""
        import structlog
        import trio
        from uuid_utils.compat import uuid7

        from picloud.actors.assembly import Parts, make_library, wake_for_sent
        from picloud.actors.execution_log import ExecutionLog, tell_all
        from picloud.actors.exit_log import ExitLog
        from picloud.actors.recording import Recording
        from picloud.actors.runtime import Journal
        from picloud.actors.wakes import QueueWakes
        from picloud.actors.world import NodeWorld
        from picloud.db.connection import connect
        from picloud.db.execution_reads import RECORDER
        from picloud.db.thread import ThreadConnections
        from picloud.engine import Engine
        from picloud.engine.sandbox import HangGuard, prepare_process

        settings = self.settings
        prepare_process()
        wakes = QueueWakes()
        library = make_library(pool, wakes, poll_interval=settings.roster_poll_interval)
        reads = ThreadConnections(self.database.dsn, prepare=settings.db_prepare)
        world = NodeWorld(library, reads, pool, trio.lowlevel.current_trio_token(), partial(wake_for_sent, wakes))
        engine = Engine(_engine_settings(settings), world)
        log = structlog.get_logger()
        recording = Recording(settings.record_buffer_mb * 1024 * 1024)
        library.check_with(engine.compile, lambda invalid: log.error("stored script is invalid", error=str(invalid)))
        try:
            yield Parts(
                settings=settings,
                pool=pool,
                connect=partial(
                    connect,
                    settings.listen_database_url or self.database.dsn,
                    prepare=settings.db_prepare,
                    application_name="picloud-wakeup",
                ),
                engine=engine,
                gate=trio.CapacityLimiter(settings.max_executions),
                library=library,
                wakes=wakes,
                node_id=uuid7(),
                on_outcomes=tell_all(ExecutionLog(log), recording),
                recording=recording,
                connect_recorder=partial(
                    connect, self.database.dsn, prepare=settings.db_prepare, application_name=RECORDER
                ),
                journal=Journal(report=ExitLog(structlog.get_logger("picloud.actors"))),
                hang_guard=HangGuard(settings.hang_timeout_secs) if settings.hang_timeout_secs else None,
                smtp=self._smtp(pool, wakes),
                revive_database=self._revive if self.database.embedded else None,
            )
        finally:
            engine.close()
            reads.close_all()

    def _smtp(self, pool: Pool, wakes: QueueWakes) -> SmtpReceiver | None:
        from picloud.actors.smtp import make_receiver

        if self.mail_listener is None:
            return None
        return make_receiver(self.settings, pool, self.mail_listener, partial(wakes.changed, "outbox"))

    async def _revive(self) -> None:
        import trio

        assert self.database.embedded is not None
        await trio.to_thread.run_sync(self.database.embedded.start)

    def _tree(self, parts: Parts) -> NodeTree:
        from picloud.actors.assembly import build_tree
        from picloud.actors.server import Server
        from picloud.http.app import create_app

        tree: NodeTree
        server = Server(
            create_app(_http_node(parts, lambda: tree)),
            [self.listener],
            send_timeout=self.settings.send_timeout,
            graceful=self.settings.drain_secs,
        )
        tree = build_tree(parts, server)
        return tree


@dataclass(slots=True)
class _Life:
    """The tree between its start and its end. The first signal drains it, the second ends it now."""

    tree: NodeTree
    engine: Engine
    drain_secs: float
    gave_up: RestartIntensityExceeded | None = None

    async def run(self, on_started: Callable[[], None]) -> int:
        import structlog
        import trio

        async with trio.open_nursery() as beside:
            await beside.start(self._obey_signals)
            async with trio.open_nursery() as nursery:
                await nursery.start(self._run_tree)
                on_started()
            beside.cancel_scope.cancel()
        if self.gave_up is not None:
            structlog.get_logger().error("the node gives up", reason=str(self.gave_up))
            return EXIT_RESTART_INTENSITY
        return 0

    async def _run_tree(self, *, task_status: trio.TaskStatus[None]) -> None:
        from picloud.actors.runtime import RestartIntensityExceeded

        try:
            await self.tree.root.run(task_status=task_status)
        except RestartIntensityExceeded as exceeded:
            self.gave_up = exceeded

    async def _obey_signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        import structlog
        import trio

        log = structlog.get_logger()
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            await anext(signals)
            log.info("draining", seconds=self.drain_secs, hint="a second signal ends it now")
            self.tree.close_intake()
            self.tree.root.request_stop()
            with trio.move_on_after(self.drain_secs):
                await anext(signals)
                log.warning("ending now")
            # handlers stop at their next tick; their messages go back to the queue
            self.engine.stop_all("the server is shutting down")
            self.tree.root.kill()


def _engine_settings(settings: Settings) -> EngineSettings:
    from picloud.engine import EngineSettings

    return EngineSettings(
        timeout_secs=settings.execution_timeout_secs,
        memory_bytes=settings.execution_memory_mb * 1024 * 1024,
        max_payload_bytes=settings.max_payload_bytes,
        max_effects=settings.max_effects,
        max_trigger_depth=settings.max_trigger_depth,
    )


def _http_node(parts: Parts, tree: Callable[[], NodeTree]) -> HttpNode:
    """Return what the HTTP API needs of the node; `tree` is asked only once requests come."""
    from picloud.actors.assembly import wake_for_sent
    from picloud.actors.wakes import QueueKey
    from picloud.http.node import Node

    serving = _serving(parts)
    return Node(
        pool=parts.pool,
        compile_script=parts.engine.compile,
        sent=partial(wake_for_sent, parts.wakes),
        wake=lambda app_id, queue: parts.wakes.sent(QueueKey(app_id, queue), 0.0),
        changed=parts.wakes.changed,
        snapshot=lambda path, depth: tree().snapshot(path, depth),
        find_routes=serving.find_routes,
        serve=serving.serve,
        render_tree=lambda path, depth: tree().render(path, depth),
        restart_actor=lambda path: tree().restart(path),
        readiness=lambda: tree().readiness(),
        max_payload_bytes=parts.settings.max_payload_bytes,
        events=lambda after: parts.journal.events.subscribe(after=after),
        id=parts.node_id,
        running=parts.engine.running,
        cancel=parts.engine.cancel,
    )


def _serving(parts: Parts) -> Serving:
    from picloud.actors.assembly import wake_for_sent
    from picloud.actors.serving import Serving, ServingConfig

    return Serving(
        parts.pool,
        parts.library,
        parts.engine,
        parts.gate,
        ServingConfig(slice_secs=parts.settings.slice_secs),
        on_sent=partial(wake_for_sent, parts.wakes),
        on_outbox=partial(parts.wakes.changed, "outbox"),
        on_outcomes=parts.on_outcomes,
    )


def _client_url(listener: socket.socket, scheme: str = "http") -> str:
    """Return the URL by which a client on this machine reaches the server."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
