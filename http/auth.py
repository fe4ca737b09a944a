"""Who may call: one bearer token, checked against the hashes in the database."""

from __future__ import annotations

import trio
from quart import g, request
from quart.wrappers import Request

from picloud.db.pool import Pool
from picloud.db.tokens import PREFIX, check_token, hash_token
from picloud.errors import DatabaseUnavailable, NotFound, Unauthorized
from picloud.http.bodies import is_storable

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""What an orchestrator asks without a token."""
OPEN_PREFIX = "/fn/"
"""The routes of apps: their handlers decide who may call."""

FRESH_SECS = 5.0
"""How long a token counts as valid after it was looked up: a deleted one works that much longer."""
OUTAGE_SECS = 3600.0
"""The same while the database is away: then no token can be deleted, and operators need the tree."""
MAX_TOKEN_LENGTH = 200
MAX_REMEMBERED = 1000


class TokenCheck:
    """Check tokens, and remember the hashes of the valid ones for a moment."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._seen: dict[bytes, tuple[float, str]] = {}
        """When each hash was last found in the database, by Trio's clock, and under which name."""

    async def check(self, token: str) -> str:
        """Let a valid token pass; return its name. Raises: Unauthorized, DatabaseUnavailable."""
        if not token.startswith(PREFIX) or len(token) > MAX_TOKEN_LENGTH:
            raise Unauthorized(f"this is not a token of picloud: they start with '{PREFIX}'")
        digest = hash_token(token)
        at, name = self._seen.get(digest, (float("-inf"), ""))
        age = trio.current_time() - at
        if age < FRESH_SECS or (age < OUTAGE_SECS and self._pool.statistics().degraded_since is not None):
            return name
        try:
            return await self._look_up(token, digest)
        except DatabaseUnavailable:
            if age >= OUTAGE_SECS:
                raise
            return name

    async def _look_up(self, token: str, digest: bytes) -> str:
        try:
            async with self._pool.connection() as conn:
                name = await check_token(conn, token)
        except Unauthorized:
            self._seen.pop(digest, None)
            raise
        if len(self._seen) >= MAX_REMEMBERED:
            self._seen.clear()
        self._seen[digest] = (trio.current_time(), name)
        return name


async def check_request(tokens: TokenCheck) -> None:
    """Let the request pass if it is open to all or has a valid token, and asks for something that can exist.

    Raises: Unauthorized, NotFound, DatabaseUnavailable.
    """
    if request.path.startswith(OPEN_PREFIX):
        return
    if request.path not in OPEN_PATHS and (request.path.startswith("/api/") or request.routing_exception is None):
        g.caller = await tokens.check(read_token(request))
    for part in (request.view_args or {}).values():
        if not is_storable(str(part)):
            raise NotFound("no such thing: the path holds characters that no name has")


def caller() -> str:
    """Return the name of the token of the request being handled; only where one is asked for."""
    name: str = g.caller
    return name


def read_token(call: Request) -> str:
    """Return the bearer token of a request. Raises: Unauthorized where there is none."""
    scheme, _, token = call.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized("no token: send 'Authorization: Bearer pc_…' (picloud prints it at its first start)")
    return token.strip()
