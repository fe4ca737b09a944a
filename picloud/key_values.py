"""The rules of `kv`: what keys look like, and what a change makes of a value. Engine and database share them."""

from __future__ import annotations

import json

from picloud.errors import KvError
from picloud.types import Json, KvWrite

MAX_KEY_BYTES = 512
MAX_NUMBER = 2**63 - 1
"""What `increment` may count to."""


def check_key(key: object, what: str = "key") -> str:
    """Return `key` if it can name a value. Raises: KvError."""
    if type(key) is not str or not key:
        raise KvError(f"kv: {what} must be text of 1 to {MAX_KEY_BYTES} bytes")
    return check_prefix(key, what)


def check_prefix(prefix: object, what: str = "prefix") -> str:
    """Return `prefix` if it can begin a key. Raises: KvError."""
    if type(prefix) is not str:
        raise KvError(f"kv: {what} must be text, not {type(prefix).__name__}")
    try:
        size = len(prefix.encode())
    except UnicodeEncodeError:
        raise KvError(f"kv: {what} has a lone surrogate, which is not text") from None
    if "\0" in prefix:
        raise KvError(f"kv: {what} has a NUL character")
    if size > MAX_KEY_BYTES:
        raise KvError(f"kv: {what} is {size} bytes, the limit is {MAX_KEY_BYTES}")
    return prefix


def apply_write(value: str | None, write: KvWrite) -> str | None:
    """Return the value of a key, as JSON text, after a change.

    Raises: KvError for an increment of what is no number.
    """
    if write.kind == "set":
        return write.value
    if write.kind == "delete":
        return None
    return json.dumps(add_number(None if value is None else json.loads(value), write.amount))


def add_number(value: Json, amount: int | float) -> int | float:
    """Return `value`, 0 where there is none, plus `amount`. Raises: KvError for no number, or too large a sum."""
    if value is None:
        return amount
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise KvError(f"kv: increment needs a number, the key holds a {type(value).__name__}")
    total = value + amount
    if abs(total) > MAX_NUMBER:
        # asked again at the commit: the key may hold another number by then, and infinity cannot be stored
        raise KvError("kv: increment went past what a 64-bit integer can hold")
    return total
