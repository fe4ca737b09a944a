"""Values that the scripts of an app keep, and what a commit makes of their changes. Source: sql/kv.sql."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import psycopg

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import KvConflict
from picloud.key_values import apply_write
from picloud.types import AppId, KvEntry, KvWrite

_sql = load("kv")

NOTHING = KvEntry()


def read_key_sync(conn: psycopg.Connection[Any], app_id: AppId, key: str) -> KvEntry:
    """Return what a key holds; on a handler thread's own connection."""
    row = conn.execute(_sql.read_key, {"app_id": app_id, "key": key}).fetchone()
    return NOTHING if row is None else KvEntry(*row)


def list_keys_sync(conn: psycopg.Connection[Any], app_id: AppId, prefix: str, after: str, limit: int) -> list[str]:
    """Return keys in the order of their code points; on a handler thread's own connection."""
    parameters = {"app_id": app_id, "prefix": prefix, "after": after, "limit": limit}
    return [row[0] for row in conn.execute(_sql.list_keys, parameters)]


async def read_key(conn: Connection, app_id: AppId, key: str) -> KvEntry:
    """Return what a key holds."""
    cur = await conn.execute(_sql.read_key, {"app_id": app_id, "key": key})
    row = await cur.fetchone()
    return NOTHING if row is None else KvEntry(*row)


async def list_keys(
    conn: Connection, app_id: AppId, *, prefix: str = "", after: str = "", limit: int = 50
) -> list[str]:
    """Return keys in the order of their code points."""
    cur = await conn.execute(_sql.list_keys, {"app_id": app_id, "prefix": prefix, "after": after, "limit": limit})
    return [row[0] for row in await cur.fetchall()]


async def lock_keys(conn: Connection, app_id: AppId, keys: Iterable[str]) -> dict[str, KvEntry]:
    """Hold keys until the transaction ends and return what they hold; `store_keys` must follow."""
    ordered = sorted(set(keys))
    if not ordered:
        return {}
    parameters = {"app_id": app_id, "keys": ordered}
    while True:
        await conn.execute(_sql.lock_keys, parameters)
        cur = await conn.execute(_sql.read_locked_keys, parameters)
        held = {row[0]: KvEntry(row[1], row[2]) for row in await cur.fetchall()}
        # a key that was there and held by another may be gone once it is ours: it is made anew
        if len(held) == len(ordered):
            return held


async def store_keys(
    conn: Connection, app_id: AppId, before: Mapping[str, KvEntry], after: Mapping[str, KvEntry]
) -> None:
    """Write what changed among locked keys; those that hold nothing are gone."""
    written = {key: entry.value for key, entry in after.items() if entry.value is not None and entry != before[key]}
    gone = [key for key, entry in after.items() if entry.value is None]
    if written:
        await conn.execute(_sql.write_keys, {"app_id": app_id, "keys": list(written), "values": list(written.values())})
    if gone:
        await conn.execute(_sql.delete_keys, {"app_id": app_id, "keys": gone})


CHANGED = -1
"""The version of a key that this transaction changed: no execution has read it."""


def change_keys(entries: Mapping[str, KvEntry], writes: Iterable[KvWrite]) -> dict[str, KvEntry]:
    """Return `entries` after the changes of one execution. Raises: KvConflict; KvError for an increment of a text."""
    changed = dict(entries)
    for write in writes:
        seen = entries[write.key].version
        if write.if_version is not None and write.if_version != seen:
            raise KvConflict(f"kv: key '{write.key}' was changed by another execution")
        changed[write.key] = KvEntry(apply_write(changed[write.key].value, write), CHANGED)
    return changed
