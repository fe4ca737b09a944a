"""Library: the current source of every script and the routes of all apps, in memory, for whoever runs scripts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import trio

from picloud.actors.retrying import OutageBackoff
from picloud.actors.runtime import HealthGauge, WakeMailbox
from picloud.db.http_triggers import StoredRoute
from picloud.db.scripts import ScriptHead
from picloud.errors import DatabaseUnavailable, ScriptInvalid
from picloud.routes import RouteTable, parse_pattern
from picloud.types import AppId, Script, ScriptId

ListHeads = Callable[[], Awaitable[list[ScriptHead]]]
ListRoutes = Callable[[], Awaitable[list[StoredRoute]]]
Compile = Callable[[str, str], object]
"""Name and source; blocks. Raises: ScriptInvalid."""
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
        self._compile: Compile | None = None
        self._on_invalid: Callable[[ScriptInvalid], None] = lambda invalid: None
        self._unchecked: list[Script] = []
        self._invalid: dict[tuple[AppId, str], str] = {}
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
            except DatabaseUnavailable as error:
                await backoff.wait(error)
                continue
            if not started:
                task_status.started()
                started = True
            backoff.ok()
            await self.check()
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
            self._unchecked += loaded.values()
            current = {h.id: loaded.get(h.id) or known.get(h.id) for h in heads}
            self._by_name = {(s.app_id, s.name): s for s in current.values() if s is not None}
            self._take_routes(await self._list_routes())
            return len(loaded)

    def check_with(self, compile_script: Compile, on_invalid: Callable[[ScriptInvalid], None]) -> None:
        """Have every script compiled once it is loaded, and hear of those that break the policy."""
        self._compile = compile_script
        self._on_invalid = on_invalid

    async def check(self) -> None:
        """Compile what was loaded: a stored script that breaks the policy after an upgrade is told before it runs."""
        while self._compile is not None and self._unchecked:
            script = self._unchecked.pop()
            key = (script.app_id, script.name)
            try:
                await trio.to_thread.run_sync(self._compile, script.name, script.source)
            except ScriptInvalid as invalid:
                self._invalid[key] = str(invalid)
                self._on_invalid(invalid)
            else:
                self._invalid.pop(key, None)

    def _take_routes(self, stored: Sequence[StoredRoute]) -> None:
        tables: dict[AppId, RouteTable[StoredRoute]] = {}
        for route in stored:
            tables.setdefault(route.app_id, RouteTable()).add(route.method, parse_pattern(route.path), route)
        self._routes = tables
        self._apps = {route.app_name: route.app_id for route in stored}
        self._route_count = len(stored)

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        invalid = [name for key in self._invalid if key in self._by_name for name in key[1:]]
        return {"scripts": len(self._by_name), "routes": self._route_count, "invalid": invalid}
