"""Values that the scripts of an app keep between executions, by key.

Atomic: changes are committed together with the acknowledgement of what the handler works on, or not at all; reads see
the execution's own changes, and a key that was read stays the same for the rest of the execution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from picloud.sdk.outside import refuse
from picloud.types import Json


@dataclass(frozen=True, slots=True)
class Entry:
    """A value and its version: what `if_version` compares with. Version 0: there is nothing under the key."""

    value: Any
    version: int

    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"value", "version"})


def get(key: str, default: Any = None) -> Any:
    """Return the value of a key, or `default`. Raises: KvError (the key)."""
    refuse("kv.get")


def entry(key: str) -> Entry:
    """Return the value of a key with its version. Raises: KvError (the key)."""
    refuse("kv.entry")


def set(key: str, value: Json, *, if_version: int | None = None) -> None:  # noqa: A001
    """Store a JSON value.

    With `if_version` only if the key still has that version at the commit, 0 meaning that there is none; else the
    execution fails with KvConflict, its effects are dropped and it is tried again as after any failure.
    Raises: KvError (the key, or a version that is not the one this execution sees), PayloadTooLarge.
    """
    refuse("kv.set")


def delete(key: str, *, if_version: int | None = None) -> None:
    """Forget a key; does nothing where there is none."""
    refuse("kv.delete")


def increment(key: str, by: int | float = 1) -> int | float:
    """Add to a number, from 0 where there is none; return it as this execution sees it.

    The addition is done at the commit, so that no other execution's addition is lost.
    Raises: KvError when the key holds something else.
    """
    refuse("kv.increment")


def list(prefix: str = "", *, after: str = "", limit: int = 100) -> Sequence[str]:  # noqa: A001
    """Return up to `limit` (1000 at most) keys that begin with `prefix`, in order, from behind `after` on."""
    refuse("kv.list")
