"""Library: the current source of every script and the routes of all apps, in memory, for whoever runs scripts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import trio

from picloud.actors.retrying import OutageBackoff
from picloud.actors.runtime import HealthGauge, WakeMailbox
from picloud.db.http_triggers import StoredRoute
from picloud.db.scripts import ScriptHead
from picloud.errors import DatabaseUnavailable
from picloud.routes import RouteTable, parse_pattern
from picloud.types import AppId, Script, ScriptId

ListHeads = Callable[[], Awaitable[list[ScriptHead]]]
ListRoutes = Callable[[], Awaitable[list[StoredRoute]]]
LoadScripts = Callable[[Sequence[ScriptId]], Awaitable[list[Script]]]


class Library:
    """Keep the node's copy of all scripts and routes fresh: at each change heard of, and by a poll."""

    def __init__(
        self,
        list_heads: ListHeads,
        load_scripts: LoadScripts,
        list_routes: ListRoutes,
        changed: WakeMailbox,
        *,
        poll_interval: float,
    ) -> None:
        self._list_heads = list_heads
        self._load_scripts = load_scripts
        self._list_routes = list_routes
        self._poll_interval = poll_interval
        self._by_name: dict[tuple[AppId, str], Script] = {}
        self._routes: dict[AppId, RouteTable[StoredRoute]] = {}
        self._route_count = 0
        self._apps: dict[str, AppId] = {}
        self._refreshing = trio.Lock()
        self.mailbox = changed
        self.health = HealthGauge()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Refresh at each change and every `poll_interval` seconds; started once all scripts are in memory."""
        backoff = OutageBackoff(self.health)
        started = False
        while True:
            try:
                await self.refresh()
                backoff.ok()
            except DatabaseUnavailable as error:
                await backoff.wait(error)
                continue
            if not started:
                task_status.started()
                started = True
            await self.mailbox.wait(timeout=self._poll_interval)

    def find(self, app_id: AppId, name: str) -> Script | None:
        """Return a script as this node knows it; from any thread."""
        return self._by_name.get((app_id, name))

    def find_routes(self, app_id: AppId) -> RouteTable[StoredRoute]:
        """Return an app's routes as this node knows them; from any thread."""
        return self._routes.get(app_id) or RouteTable()

    def find_app_with_routes(self, name: str) -> AppId | None:
        """Return the app of that name, if it has a route."""
        return self._apps.get(name)

    async def refresh(self) -> int:
        """Load what changed; return how many scripts were loaded."""
        async with self._refreshing:
            heads = await self._list_heads()
            known = {script.id: script for script in self._by_name.values()}
            stale = [h.id for h in heads if h.id not in known or known[h.id].version != h.version]
            loaded = {script.id: script for script in await self._load_scripts(stale)} if stale else {}
            current = {h.id: loaded.get(h.id) or known.get(h.id) for h in heads}
            self._by_name = {(s.app_id, s.name): s for s in current.values() if s is not None}
            self._take_routes(await self._list_routes())
            return len(loaded)

    def _take_routes(self, stored: Sequence[StoredRoute]) -> None:
        tables: dict[AppId, RouteTable[StoredRoute]] = {}
        for route in stored:
            tables.setdefault(route.app_id, RouteTable()).add(route.method, parse_pattern(route.path), route)
        self._routes = tables
        self._apps = {route.app_name: route.app_id for route in stored}
        self._route_count = len(stored)

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        return {"scripts": len(self._by_name), "routes": self._route_count}
