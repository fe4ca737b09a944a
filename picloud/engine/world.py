"""What handlers reach outside of their own execution. The engine never knows a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from picloud.types import AppId, KvEntry, MessageId, NewMessage, Script


class World(Protocol):
    """Functions for handler threads: synchronous, safe from any thread.

    Raises: PicloudError, which the handler sees as the error of its call.
    """

    def find_script(self, app_id: AppId, name: str) -> Script | None:
        """Return the current version of a script, from memory."""
        ...

    def count_depth(self, app_id: AppId, queue_name: str) -> tuple[int, int]:
        """Return how many messages of a queue are unclaimed, and how many of those are due."""
        ...

    def find_route(self, app_id: AppId, path: str, method: str | None) -> Script | None:
        """Return the current version of the script bound to a route: of `method`, else of POST, else of GET."""
        ...

    def read_key(self, app_id: AppId, key: str) -> KvEntry:
        """Return what a key holds."""
        ...

    def list_keys(self, app_id: AppId, prefix: str, after: str, limit: int) -> list[str]:
        """Return keys that begin with `prefix` and come after `after`, in the order of their code points."""
        ...

    def read_secret(self, app_id: AppId, name: str) -> str | None:
        """Return a secret, or None."""
        ...

    def list_http_hosts(self, app_id: AppId) -> frozenset[str]:
        """Return the hosts that the app may send requests to."""
        ...

    def send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        """Commit messages; return the id of each, or of the earlier message that holds its dedup key."""
        ...


class EmptyWorld:
    """A world with nothing in it, for those that need only a part of one."""

    def find_script(self, app_id: AppId, name: str) -> Script | None:
        return None

    def count_depth(self, app_id: AppId, queue_name: str) -> tuple[int, int]:
        return 0, 0

    def find_route(self, app_id: AppId, path: str, method: str | None) -> Script | None:
        return None

    def read_key(self, app_id: AppId, key: str) -> KvEntry:
        return KvEntry()

    def list_keys(self, app_id: AppId, prefix: str, after: str, limit: int) -> list[str]:
        return []

    def read_secret(self, app_id: AppId, name: str) -> str | None:
        return None

    def list_http_hosts(self, app_id: AppId) -> frozenset[str]:
        return frozenset()

    def send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        return [message.id for message in messages]
