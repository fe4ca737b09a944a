"""Who may call a route: a bearer token of the instance, one of the app's secrets, or who signed the body with one."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable, Sequence

import structlog

from picloud.db.http_triggers import StoredRoute
from picloud.db.pool import Pool
from picloud.db.secrets import read_secrets
from picloud.errors import RouteSecretMissing, SignatureInvalid, Unauthorized
from picloud.http.route_calls import RouteCall
from picloud.route_rules import Signature

CheckToken = Callable[[str], Awaitable[str]]
"""Returns the token's name. Raises: Unauthorized, DatabaseUnavailable."""

_log = structlog.get_logger("picloud.http")


class RouteGuard:
    """Check calls against the rules of their route. `check_token` takes a token of the instance."""

    def __init__(self, pool: Pool, check_token: CheckToken) -> None:
        self._pool = pool
        self._check_token = check_token

    async def check_caller(self, route: StoredRoute, call: RouteCall) -> str | None:
        """Let a call with a good token pass, before its body is read; return the name of the token, if it has one.

        Raises: Unauthorized, RouteSecretMissing, DatabaseUnavailable.
        """
        rules = route.rules
        if rules.auth != "token":
            return None
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Unauthorized("this route needs a token: send 'Authorization: Bearer …'")
        if not rules.secrets:
            return await self._check_token(token)
        given = token.encode("latin-1", "replace")
        if not _matches_any(given, await self._read_keys(route)):
            raise Unauthorized("this is not a token of this route")
        return None

    async def check_signature(self, route: StoredRoute, call: RouteCall, body: bytes) -> None:
        """Let a call pass whose body was signed with one of the route's secrets.

        Raises: SignatureInvalid, RouteSecretMissing, DatabaseUnavailable.
        """
        form = route.rules.signature
        if form is None:
            return
        given = read_digest(call, form)
        keys = await self._read_keys(route)
        if not _matches_any(given, [hmac.digest(key, body, form.algorithm) for key in keys]):
            raise SignatureInvalid(f"the signature in {form.header} is not that of this body")

    async def _read_keys(self, route: StoredRoute) -> list[bytes]:
        """Return the route's secrets that are set, asked for each time: a secret that was taken away works no more."""
        names = route.rules.secrets
        async with self._pool.connection() as conn:
            known = await read_secrets(conn, route.app_id, names)
        missing = [name for name in names if name not in known]
        if missing:
            _log.warning("route_secret_missing", app=route.app_name, path=route.path, secrets=missing)
        if not known:
            raise RouteSecretMissing(
                "this route cannot check who calls: none of its secrets is set (picloud secrets set APP NAME); "
                "nothing was run: send it again later"
            )
        return [value.encode() for value in known.values()]


def read_digest(call: RouteCall, form: Signature) -> bytes:
    """Return the digest that a call claims. Raises: SignatureInvalid where there is none of that form."""
    value = call.headers.get(form.header.lower())
    if value is None:
        raise SignatureInvalid(f"no signature: this route needs the header {form.header}")
    text = value.strip()
    if not text.startswith(form.prefix):
        raise SignatureInvalid(f"the signature in {form.header} does not start with {form.prefix!r}")
    text = text[len(form.prefix) :]
    try:
        return bytes.fromhex(text) if form.encoding == "hex" else base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise SignatureInvalid(f"the signature in {form.header} is not {form.encoding}") from None


def _matches_any(given: bytes, wanted: Sequence[bytes]) -> bool:
    """Compare with each, whichever matches: the time taken tells nothing."""
    return sum(hmac.compare_digest(given, one) for one in wanted) > 0
