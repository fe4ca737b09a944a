"""`kv` and `secrets` as a script sees them: bound to one run, useless after it. The signatures are picloud.sdk's."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, ClassVar

from picloud.engine.values import encode_value
from picloud.errors import KvError, SecretError
from picloud.key_values import MAX_NUMBER, add_number, check_key, check_prefix
from picloud.sdk.kv import Entry
from picloud.types import Json, KvEntry, KvWrite

if TYPE_CHECKING:
    from picloud.engine.execution import Run

MAX_LISTED = 1000


class KvBridge:
    """`kv`: reads see the run's own changes, which go into its unit of work."""

    __slots__ = ("_run",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"get", "entry", "set", "delete", "increment", "list"})

    def __init__(self, run: Run) -> None:
        self._run = run

    def get(self, key: str, default: Any = None) -> Any:
        text = self._read(check_key(key)).value
        return default if text is None else self._decode(text)

    def entry(self, key: str) -> Entry:
        found = self._read(check_key(key))
        return Entry(None if found.value is None else self._decode(found.value), found.version)

    def set(self, key: str, value: Json, *, if_version: int | None = None) -> None:
        run = self._run
        checked = check_key(key)
        limit = run.engine().settings.max_payload_bytes
        text = encode_value(value, "value", area="kv", fault=KvError, meter=run.meter, max_bytes=limit)
        run.meter.charge(len(text))
        self._write(KvWrite("set", checked, text, if_version=self._check_version(checked, if_version)))

    def delete(self, key: str, *, if_version: int | None = None) -> None:
        checked = check_key(key)
        self._write(KvWrite("delete", checked, if_version=self._check_version(checked, if_version)))

    def increment(self, key: str, by: int | float = 1) -> int | float:
        checked = check_key(key)
        if type(by) not in (int, float) or not math.isfinite(by) or abs(by) > MAX_NUMBER:
            raise KvError("kv: increment needs a number that a 64-bit integer or a float can hold")
        text = self._read(checked).value
        total = add_number(None if text is None else json.loads(text), by)
        self._write(KvWrite("increment", checked, amount=by))
        return total

    def list(self, prefix: str = "", *, after: str = "", limit: int = 100) -> list[str]:
        run = self._run
        prefix, after = check_prefix(prefix), check_prefix(after, "after")
        if type(limit) is not int or not 1 <= limit <= MAX_LISTED:
            raise KvError(f"kv: limit must be a whole number from 1 to {MAX_LISTED}")
        with run.meter.host():
            changed = run.unit.changed_keys()
            stored = run.engine().world.list_keys(run.job.app_id, prefix, after, limit + len(changed))
            keys = {key for key in stored if changed.get(key, True)}
            keys |= {key for key, there in changed.items() if there and key.startswith(prefix)}
            ordered = sorted(keys)
        return ordered[bisect_right(ordered, after) :][:limit]

    def _read(self, key: str) -> KvEntry:
        run = self._run
        with run.meter.host():
            world = run.engine().world
            found = run.unit.read_key(key, lambda key: world.read_key(run.job.app_id, key))
        run.meter.charge(len(found.value or ""))
        return found

    def _decode(self, text: str) -> Any:
        self._run.meter.charge(len(text))
        return json.loads(text)

    def _check_version(self, key: str, version: object) -> int | None:
        """Refuse at once what cannot succeed at the commit."""
        if version is None:
            return None
        if type(version) is not int or version < 0:
            raise KvError("kv: if_version must be the version of an entry, 0 for a key that must not be there")
        if self._read(key).version != version:
            raise KvError(f"kv: key '{key}' has another version than {version}: read its entry again")
        return version

    def _write(self, write: KvWrite) -> None:
        run = self._run
        with run.meter.host():
            run.make_room(1)
            run.unit.record_write(write)


class SecretsBridge:
    """`secrets`: read only."""

    __slots__ = ("_run",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"get"})

    def __init__(self, run: Run) -> None:
        self._run = run

    def get(self, name: str) -> str:
        if type(name) is not str or not name:
            raise SecretError("secrets: the name of a secret is text")
        run = self._run
        with run.meter.host():
            value = run.engine().world.read_secret(run.job.app_id, name[:200])
        if value is None:
            raise SecretError(f"secrets: no secret {name[:200]!r}: set it with picloud secrets set {run.job.app_name}")
        return value
