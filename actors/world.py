"""What handlers reach outside of their own execution, as functions for their threads."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from picloud.actors.library import Library
from picloud.actors.wakes import OnSent
from picloud.db.apps import list_http_hosts_sync
from picloud.db.kv import list_keys_sync, read_key_sync
from picloud.db.messages import insert_messages
from picloud.db.pool import Pool
from picloud.db.queues import count_depth_sync
from picloud.db.secrets import read_secret_sync
from picloud.db.thread import ThreadConnections
from picloud.types import AppId, KvEntry, MessageId, NewMessage, Script


class NodeWorld:
    """Scripts from the node's library; reads on the thread's own connection; writes on the pool.

    Every method runs on a handler's thread.
    """

    def __init__(
        self,
        library: Library,
        reads: ThreadConnections,
        pool: Pool,
        trio_token: trio.lowlevel.TrioToken,
        on_sent: OnSent,
    ) -> None:
        self._library = library
        self._reads = reads
        self._pool = pool
        self._trio_token = trio_token
        self._on_sent = on_sent

    def find_script(self, app_id: AppId, name: str) -> Script | None:
        """Return the script's current version, or None."""
        return self._library.find(app_id, name)

    def count_depth(self, app_id: AppId, queue_name: str) -> tuple[int, int]:
        """Return how many messages of a queue are unclaimed, and how many of them are due."""
        return count_depth_sync(self._reads.get(), app_id, queue_name)

    def find_route(self, app_id: AppId, path: str, method: str | None) -> Script | None:
        """Return the script bound to a route: of `method`, else of POST, else of GET."""
        for match in self._library.find_routes(app_id).find(path):
            for name in (method,) if method is not None else ("POST", "GET"):
                if name in match.routes:
                    return self._library.find(app_id, match.routes[name][0].script_name)
        return None

    def read_key(self, app_id: AppId, key: str) -> KvEntry:
        """Return what a key holds."""
        return read_key_sync(self._reads.get(), app_id, key)

    def list_keys(self, app_id: AppId, prefix: str, after: str, limit: int) -> list[str]:
        """Return keys in the order of their code points."""
        return list_keys_sync(self._reads.get(), app_id, prefix, after, limit)

    def read_secret(self, app_id: AppId, name: str) -> str | None:
        """Return a secret, or None."""
        return read_secret_sync(self._reads.get(), app_id, name)

    def list_http_hosts(self, app_id: AppId) -> frozenset[str]:
        """Return the hosts that the app may send requests to."""
        return list_http_hosts_sync(self._reads.get(), app_id)

    def send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        """Commit messages at once, whatever becomes of the handler."""
        # with the token, not the thread's task: a cancelled consumer must not cut the insert short
        return trio.from_thread.run(self._send_now, app_id, messages, trio_token=self._trio_token)

    async def _send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        async with self._pool.connection() as conn:
            sent = await insert_messages(conn, app_id, messages)
        self._on_sent(app_id, messages, sent)
        return [one.id for one in sent]
