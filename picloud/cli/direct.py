"""The database itself, for commands that work while no node runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from picloud.db.connection import Connection

T = TypeVar("T")


@contextmanager
def open_database(home: Path | None) -> Iterator[str]:
    """Yield the DSN of the node's database; the embedded server runs meanwhile.

    Raises: InvalidSetting, EmbeddedPostgresError.
    """
    from picloud.config import load_settings

    settings = load_settings(home=home)
    if settings.database_url is not None:
        yield settings.database_url
        return
    from picloud.db.embedded import EmbeddedPostgres

    with EmbeddedPostgres(settings.home, binaries=settings.pg_bin) as postgres:
        yield postgres.dsn


def with_connection(home: Path | None, work: Callable[[Connection], Awaitable[T]]) -> T:
    """Run `work` with a connection to the node's database.

    Raises: DatabaseUnavailable, DatabaseMisconfigured, and as `open_database`.
    """
    import trio

    with open_database(home) as dsn:
        return trio.run(partial(_run, dsn, work))


async def _run(dsn: str, work: Callable[[Connection], Awaitable[T]]) -> T:
    from picloud.db.connection import connect

    conn = await connect(dsn, prepare=False, application_name="picloud-cli")
    try:
        return await work(conn)
    finally:
        await conn.close()
