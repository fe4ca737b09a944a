"""API tokens: shown once, stored as a hash. Source: sql/tokens.sql."""

from __future__ import annotations

import hashlib
import secrets

from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.errors import Unauthorized

_sql = load("tokens")

PREFIX = "pc_"


async def create_token(conn: Connection, name: str) -> str:
    """Make a token and return its text, which is not stored and cannot be shown again."""
    token = PREFIX + secrets.token_urlsafe(32)
    await conn.execute(_sql.insert_token, {"id": uuid7(), "name": name, "token_sha256": hash_token(token)})
    return token


async def check_token(conn: Connection, token: str) -> str:
    """Return the name of a valid token. Raises: Unauthorized."""
    cur = await conn.execute(_sql.find_token, {"token_sha256": hash_token(token)})
    row = await cur.fetchone()
    if row is None:
        raise Unauthorized("this server does not know the token")
    return str(row[0])


async def ensure_token(conn: Connection, name: str) -> str | None:
    """Make the first token where there is none and return its text; None where there is one.

    Atomic: nodes that start at once make one between them.
    """
    async with conn.transaction():
        await conn.execute(_sql.lock_tokens)
        cur = await conn.execute(_sql.count_tokens)
        row = await cur.fetchone()
        return await create_token(conn, name) if row == (0,) else None


def hash_token(token: str) -> bytes:
    """Return what is stored of a token: a SHA-256, enough for 256 random bits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
