"""What a comparison may cost: its left side bounds it, as it is now."""

from __future__ import annotations

from typing import Any

from picloud.engine.sandbox.containers import Counter, DefaultDict
from picloud.engine.sandbox.sizes import ATOMS, ITEMS_VIEW, MAPPINGS, SEQUENCES, SETS, Extent


def comparable(value: Any) -> Any:
    """Guard the left side of a comparison: what it costs is bounded by that side, as it is now.

    Containers are copied: the script's code may run before the comparison (its right side) and within it (an __eq__ on
    either side), and could make them longer.
    """
    return value if type(value) in ATOMS else snapshot(value, Extent())


def snapshot(value: Any, extent: Extent) -> Any:
    """Return a copy of the containers in a value that C code will visit later, or while it calls the script."""
    extent.add(value)
    return _copied(value)


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind in MAPPINGS:
        if ATOMS.issuperset(map(type, value.values())):
            return value.copy()
        items = {key: _copied(item) for key, item in value.items()}
        return Counter(items) if kind is Counter else items if kind is dict else DefaultDict(None, items)
    if kind is ITEMS_VIEW:
        return {key: _copied(item) for key, item in value}.items()
    if kind in SETS:
        return kind(value)
    if kind not in SEQUENCES:
        return value
    if ATOMS.issuperset(map(type, value)):
        return value if kind is tuple else value.copy()
    return kind([_copied(item) for item in value])
