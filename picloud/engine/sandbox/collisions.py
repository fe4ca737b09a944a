"""Keys that share a hash: C code that works on a whole table may compare each of them with every other, in one go.

Such keys can be chosen: `i * (2**61 - 1)`, tuples and frozensets of these. One look-up among them is not long, since
the script needed as much for every key that it put there; a whole table can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, Final

from picloud.engine.sandbox.decimals import Decimal
from picloud.engine.sandbox.stops import LimitError

MAX_COLLISIONS: Final = 1 << 18
"""Comparisons of keys with the same hash, each as long as that of two short numbers, in one operation."""

_QUICK: Final = frozenset([str, bytes, float, bool, type(None), Decimal])
"""Types whose values do not collide, are compared at once, or in Python."""
_QUICK_FROM: Final = 2048
_NESTED: Final = frozenset([tuple, frozenset])
_NESTED_FROM: Final = 32
_NUMBERS_FROM: Final = 128
"""Tables of more keys are looked at: by what their keys cost to be compared."""
_FEW: Final = 8
"""So few keys with the hash of another cost nothing."""


def count_collisions(keys: Collection[Any]) -> int:
    """Return how many comparisons of short numbers all keys of a table take at most, if each is looked up in it."""
    size = len(keys)
    if size < 2:
        return 0
    kinds = set(map(type, keys))
    if not kinds.isdisjoint(_NESTED):
        least = 1 if frozenset in kinds else _NESTED_FROM
    else:
        least = _QUICK_FROM if kinds <= _QUICK else _NUMBERS_FROM
    if size <= least:
        return 0
    hashes = [hash(key) for key in keys]  # no map(): those of long tuples take their time, and this can be stopped
    if size - len(set(hashes)) < min(_FEW, least):
        return 0
    sharing = Counter(hashes)
    pairs = zip(keys, hashes, strict=True)
    return sum([sharing[shared] * _weight(key) for key, shared in pairs if sharing[shared] > 1])


def expect_few(collisions: int) -> None:
    """Refuse a whole operation on tables."""
    if collisions > MAX_COLLISIONS:
        raise LimitError("too many keys of the set or dict have the same hash")


def _weight(key: Any) -> int:
    """Return about how many comparisons of short numbers one comparison of the key takes."""
    weight = factor = 1
    level = [key]
    while level:
        below: list[Any] = []
        kinds = set(map(type, level))
        for item in level:
            kind = type(item)
            if kind in _NESTED:
                weight += factor * len(item)
                below += item
            elif kind is int:
                weight += item.bit_length() >> 10
            elif kind is str or kind is bytes:
                weight += len(item) >> 8
        # in a frozenset each is looked for, and may be compared with some that it is not
        factor *= 4 if frozenset in kinds else 1
        level = below
    return weight
