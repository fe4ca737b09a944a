"""From the app's name in the path to the app."""

from __future__ import annotations

from typing import cast

import trio
from quart import current_app

from picloud.db.apps import get_app
from picloud.db.connection import Connection
from picloud.types import App, AppId

FRESH_SECS = 2.0
"""How long a name is remembered: an app renamed on another node keeps its old name that much longer."""
MAX_REMEMBERED = 10_000
EXTENSION = "picloud.app_ids"


class AppIds:
    """Remember the ids of apps for a moment: sending a message then costs one statement, not two."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[AppId, float]] = {}

    async def find(self, conn: Connection, name: str) -> AppId:
        """Return the id of the app. Raises: AppNotFound."""
        app_id, seen = self._known.get(name, (None, 0.0))
        if app_id is not None and trio.current_time() - seen < FRESH_SECS:
            return app_id
        return self.note(await get_app(conn, name))

    def note(self, app: App) -> AppId:
        """Remember an app that was just read."""
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
        self._known[app.name] = (app.id, trio.current_time())
        return app.id

    def forget(self, name: str) -> None:
        """Ask the database the next time: the app was renamed or deleted."""
        self._known.pop(name, None)


def app_ids() -> AppIds:
    """Return the ids that the app of the request being handled remembers."""
    return cast(AppIds, current_app.extensions[EXTENSION])
