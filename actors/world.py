"""What handlers reach outside of their own execution, as functions for their threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from picloud.actors.library import Library
from picloud.db.messages import Sent, insert_messages
from picloud.db.pool import Pool
from picloud.db.queues import count_depth_sync
from picloud.db.thread import ThreadConnections
from picloud.types import AppId, MessageId, NewMessage, Script

OnSent = Callable[[AppId, Sequence[NewMessage], Sequence[Sent]], None]


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

    def send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        """Commit messages at once, whatever becomes of the handler."""
        # with the token, not the thread's task: a cancelled consumer must not cut the insert short
        return trio.from_thread.run(self._send_now, app_id, messages, trio_token=self._trio_token)

    async def _send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        async with self._pool.connection() as conn:
            sent = await insert_messages(conn, app_id, messages)
        self._on_sent(app_id, messages, sent)
        return [one.id for one in sent]
