"""Serving: run the script that a route names, commit what it asks for, and only then answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import trio

from picloud.actors.library import Library
from picloud.actors.wakes import OnSent
from picloud.db.http_triggers import StoredRoute
from picloud.db.pool import Pool
from picloud.db.units import Committed, apply_effects
from picloud.engine import Engine, Event, HttpEvent, Job, Outcome
from picloud.errors import GateFull, KvError, MethodNotAllowed, RouteNotFound
from picloud.routes import Match
from picloud.types import AppId, Script, ScriptError


@dataclass(frozen=True, slots=True)
class ServingConfig:
    """Durations are seconds."""

    gate_wait: float = 5.0
    """How long a request waits for a free worker thread before it is refused."""
    slice_secs: float = 0.05


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """A request for a route of an app; the body is decoded already."""

    app: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """By lower-case name."""
    body: Any
    raw: bytes
    request_id: str
    principal: str | None = None


class Serving:
    """Runs handlers for requests. Not an actor: it lives in the tasks of the requests."""

    def __init__(
        self,
        pool: Pool,
        library: Library,
        engine: Engine,
        gate: trio.CapacityLimiter,
        config: ServingConfig,
        *,
        on_sent: OnSent,
        on_outbox: Callable[[], None],
        on_outcomes: Callable[[Sequence[Outcome]], None],
    ) -> None:
        self._pool = pool
        self._library = library
        self._engine = engine
        self._gate = gate
        self._config = config
        self._on_sent = on_sent
        self._on_outbox = on_outbox
        self._on_outcomes = on_outcomes

    async def serve(self, request: RouteRequest) -> Outcome:
        """Run the route's script; its effects are committed when this returns.

        Cancelled: nothing is committed unless all of it was.
        Raises: RouteNotFound, MethodNotAllowed, GateFull, ScriptInvalid, EngineClosed, DatabaseUnavailable.
        """
        app_id = self._library.find_app_with_routes(request.app)
        if app_id is None:
            raise RouteNotFound(f"no route for '{request.path}'")
        route, params = find_route(self._library.find_routes(app_id).find(request.path), request)
        script = self._library.find(app_id, route.script_name)
        if script is None:
            raise RouteNotFound(f"no route for '{request.path}'")
        event = HttpEvent(
            request.method, request.path, params, request.query, request.headers, request.body, request.raw
        )
        outcome = await self._run(route, script, event, request)
        return await self._commit(app_id, outcome) if outcome.ok else outcome

    async def _run(self, route: StoredRoute, script: Script, event: Event, request: RouteRequest) -> Outcome:
        with trio.move_on_after(self._config.gate_wait):
            # cancelled only while it waits at the gate
            outcomes = await trio.to_thread.run_sync(self._run_job, route, script, event, request, limiter=self._gate)
            if not outcomes:
                raise GateFull("the server is shutting down")
            return outcomes[0]
        raise GateFull("all worker threads are busy: try again soon")

    def _run_job(self, route: StoredRoute, script: Script, event: Event, request: RouteRequest) -> list[Outcome]:
        job = Job(
            app_id=script.app_id,
            app_name=route.app_name,
            script=self._engine.compile(script.name, script.source),
            version=script.version,
            event=event,
            request_id=request.request_id,
            principal=request.principal,
        )
        outcomes = self._engine.run_slice([job], slice_secs=self._config.slice_secs)
        self._on_outcomes(outcomes)
        return outcomes

    async def _commit(self, app_id: AppId, outcome: Outcome) -> Outcome:
        effects, committed = outcome.effects, Committed()
        if not (effects.messages or effects.writes or effects.invocations):
            return outcome
        try:
            async with self._pool.transaction() as conn:
                await apply_effects(conn, app_id, effects, committed)
        except KvError as refusal:
            return outcome.fail(ScriptError.of(refusal))
        self._on_sent(app_id, committed.messages, committed.sent)
        if committed.invocations:
            self._on_outbox()
        return outcome


def find_route(matches: Sequence[Match[StoredRoute]], request: RouteRequest) -> tuple[StoredRoute, dict[str, str]]:
    """Return the most exact route that takes the method, with its parameters; HEAD falls back to GET.

    Raises: RouteNotFound; MethodNotAllowed with the methods that some route of the path takes.
    """
    methods = (request.method, "GET") if request.method == "HEAD" else (request.method,)
    for match in matches:
        for method in methods:
            if method in match.routes:
                route, pattern = match.routes[method]
                return route, match.params(pattern)
    if not matches:
        raise RouteNotFound(f"no route for '{request.path}'")
    allowed = {method for match in matches for method in match.routes}
    raise MethodNotAllowed(f"'{request.path}' does not take {request.method}", sorted(allowed))
