"""Serving: run the script that a route names, commit what it asks for, and only then answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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

    method: str
    path: str
    query: Mapping[str, str]
    """The first value of each parameter."""
    query_all: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    """By lower-case name."""
    body: Any
    raw: bytes
    request_id: str
    principal: str | None = None


class Target(NamedTuple):
    """The route that a request is for."""

    route: StoredRoute
    params: Mapping[str, str]


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

    def find_routes(self, app: str, segments: Sequence[str]) -> list[Match[StoredRoute]]:
        """Return the routes that a path of the app matches, the most exact first. Raises: RouteNotFound."""
        app_id = self._library.find_app_with_routes(app)
        matches = [] if app_id is None else self._library.find_routes(app_id).find_segments(segments)
        if not matches:
            raise RouteNotFound(f"no route for '/{'/'.join(segments)}'")
        return matches

    async def serve(self, target: Target, request: RouteRequest) -> Outcome:
        """Run the route's script; its effects are committed when this returns.

        Cancelled: nothing is committed unless all of it was.
        Raises: RouteNotFound, GateFull, ScriptInvalid, EngineClosed, DatabaseUnavailable.
        """
        route = target.route
        script = self._library.find(route.app_id, route.script_name)
        if script is None:
            raise RouteNotFound(f"no route for '{request.path}'")
        event = HttpEvent(
            request.method,
            request.path,
            target.params,
            request.query,
            request.headers,
            request.body,
            request.raw,
            request.query_all,
        )
        outcome = await self._run(route, script, event, request)
        if outcome.ok:
            try:
                outcome = await self._commit(route.app_id, outcome)
            except BaseException:
                # what could not be committed did not happen, and is recorded so
                self._on_outcomes([_leave_uncommitted(outcome)])
                raise
        self._on_outcomes([outcome])
        return outcome

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
            trigger_id=route.trigger_id,
        )
        return self._engine.run_slice([job], slice_secs=self._config.slice_secs)

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


def _leave_uncommitted(outcome: Outcome) -> Outcome:
    error = ScriptError("NotCommitted", "the client left, or the database did, before the effects were committed")
    return outcome.fail(error)._replace(cancelled=True)


def pick_route(matches: Sequence[Match[StoredRoute]], method: str) -> Target:
    """Return the most exact route that takes the method; HEAD falls back to GET.

    Raises: MethodNotAllowed with the methods that the path takes.
    """
    for match in matches:
        for name in (method, "GET") if method == "HEAD" else (method,):
            if name in match.routes:
                route, pattern = match.routes[name]
                return Target(route, match.params(pattern))
    raise MethodNotAllowed(f"this path does not take {method[:20]}", list_methods(matches))


def list_methods(matches: Sequence[Match[StoredRoute]]) -> list[str]:
    """Return the methods that a path takes: those of its routes, HEAD where GET is, and OPTIONS, which we answer."""
    methods = {method for match in matches for method in match.routes}
    return sorted(methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set()))
