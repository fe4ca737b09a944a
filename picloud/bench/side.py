"""A second database on the server that is measured, for what must not share the node's tables."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from psycopg.conninfo import make_conninfo

from picloud.db.connection import connect
from picloud.db.sqlfile import load

NAME = "picloud_bench_side"

_sql = load("bench")


@asynccontextmanager
async def side_database(dsn: str) -> AsyncIterator[str]:
    """Yield the connection string of an empty database that is gone afterwards."""
    conn = await connect(dsn)
    try:
        await conn.execute(_sql.drop_side_database)
        await conn.execute(_sql.create_side_database)
        try:
            yield make_conninfo(dsn, dbname=NAME)
        finally:
            with trio.CancelScope(shield=True):
                await conn.execute(_sql.drop_side_database)
    finally:
        with trio.CancelScope(shield=True):
            await conn.close()
