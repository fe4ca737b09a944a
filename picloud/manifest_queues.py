"""`[[queues]]` of an app's manifest: rules, defaults and retention of its queues."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from picloud.errors import InvalidManifest, InvalidName
from picloud.manifest_faults import check_keys, fail, find_pointer, read_tables, show
from picloud.names import check_queue_name
from picloud.types import QueueRules

MAX_RETENTION_SECS = 31_622_400
"""A leap year."""
_RANGES = {
    "max_in_flight": (1, 100_000),
    "default_max_attempts": (1, 100),
    "message_retention_secs": (1, MAX_RETENTION_SECS),
    "dead_retention_secs": (1, MAX_RETENTION_SECS),
}
_RULES = tuple(field.name for field in fields(QueueRules))


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """What is to hold for a queue. `settings` holds only what was written: the rest has its default."""

    name: str
    settings: Mapping[str, Any]

    @property
    def rules(self) -> QueueRules:
        """The whole of it."""
        return QueueRules(**self.settings)


def read_queues(entries: object) -> Iterator[QueueSpec]:
    """Yield the queues of a manifest, not checked yet. Raises: InvalidManifest."""
    for key, entry in read_tables(entries, "queues"):
        check_keys(entry, ("name", *_RULES), f"{key}.")
        if "name" not in entry:
            fail(f"{key}.name", "missing")
        yield QueueSpec(entry["name"], {name: value for name, value in entry.items() if name in _RULES})


def check_queues(specs: Sequence[QueueSpec]) -> None:
    """Check each, and that no queue is there twice. Raises: InvalidManifest."""
    seen: dict[str, int] = {}
    for at, spec in enumerate(specs):
        key = f"queues[{at}]"
        try:
            check_queue_name(spec.name)
        except InvalidName as error:
            raise InvalidManifest(f"{key}.name: {error}", pointer=find_pointer(f"{key}.name")) from error
        check_keys(spec.settings, _RULES, f"{key}.")
        for name, value in spec.settings.items():
            _check(f"{key}.{name}", name, value)
        earlier = seen.setdefault(spec.name, at)
        if earlier != at:
            fail(f"{key}.name", f"queue '{spec.name}' is there already: queues[{earlier}]")


def _check(key: str, name: str, value: object) -> None:
    if name == "fifo":
        if not isinstance(value, bool):
            fail(key, f"must be true or false, not {show(value)}")
    elif value is None:
        return
    elif name == "rate_per_second":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 < value <= 100_000:  # type: ignore[arg-type,operator]
            fail(key, f"must be a number above 0, 100000 at most, not {show(value)}")
    else:
        low, high = _RANGES[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            fail(key, f"must be a whole number from {low} to {high}, not {show(value)}")
