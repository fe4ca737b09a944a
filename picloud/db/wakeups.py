"""Notifications between nodes. Source: sql/wakeups.sql."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from picloud.db.connection import Connection
from picloud.db.sqlfile import load

_sql = load("wakeups")

QUEUE_CHANNEL = "picloud_queue"
CHANGED_CHANNEL = "picloud_changed"

Changed = Literal["triggers", "scripts", "outbox", "cancels"]


async def listen(conn: Connection) -> None:
    """Hear both channels on this connection from now on."""
    await conn.execute(_sql.listen_queues)
    await conn.execute(_sql.listen_changes)


async def is_own_session(conn: Connection) -> bool:
    """Tell whether no proxy lends the session: a transaction-pooling one would lose what is listened to."""
    return await (await conn.execute(_sql.is_own_session, {"backend": conn.info.backend_pid})).fetchone() == (True,)


async def notify_queues(conn: Connection, names: Iterable[str]) -> None:
    """Tell all nodes that queues (`node id/app id/queue name`) got messages; a hint, never inside an insert."""
    await conn.execute(_sql.notify_queues, {"names": list(names)})


async def notify_changed(conn: Connection, what: str) -> None:
    """Tell all nodes that triggers or scripts (`node id/triggers`) were changed."""
    await conn.execute(_sql.notify_changed, {"what": what})
