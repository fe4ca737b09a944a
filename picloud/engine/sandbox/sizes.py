"""How large values are, and the checks before C code runs over them without a stop."""

from __future__ import annotations

import datetime
import uuid
import zoneinfo
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from picloud.engine.sandbox.collisions import count_collisions, expect_few
from picloud.engine.sandbox.containers import Counter, DefaultDict, Deque
from picloud.engine.sandbox.decimals import Decimal
from picloud.engine.sandbox.limits import (
    CHARGE_FROM,
    MAX_INT_BITS,
    MAX_ITEMS,
    MAX_KEY_NODES,
    MAX_KEY_TEXT,
    MAX_TEXT,
    MAX_WALK_NESTING,
    MAX_WALK_NODES,
    MAX_WALK_TEXT,
)
from picloud.engine.sandbox.meter import Meter, current_meter
from picloud.engine.sandbox.stops import LimitError

ATOMS: Final = frozenset(
    [
        int, float, bool, str, bytes, type(None), type(...), complex, datetime.datetime, datetime.date, datetime.time,
        datetime.timedelta, datetime.timezone, Decimal, uuid.UUID, zoneinfo.ZoneInfo,
    ]
)  # fmt: skip
"""Types whose values hold no script values."""
TEXTS: Final = frozenset([str, bytes])
SETS: Final = frozenset([set, frozenset])
SEQUENCES: Final = frozenset([list, tuple, set, frozenset, Deque])
MAPPINGS: Final = frozenset([dict, DefaultDict, Counter])
_EMPTY: dict[Any, Any] = {}
_KEYS, _VALUES, ITEMS_VIEW = type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items())
VIEWS: Final = frozenset([_KEYS, _VALUES, ITEMS_VIEW])
SET_VIEWS: Final = frozenset([_KEYS, ITEMS_VIEW])
HASHED: Final = SETS | MAPPINGS | {_KEYS, ITEMS_VIEW}
SIZED: Final = SEQUENCES | MAPPINGS | TEXTS | VIEWS | {range}
"""Types that C code may iterate: their length is known and bounded."""

FEW: Final = 32
"""Larger containers are looked at by C code first."""
_QUICKLY_COUNTED: Final = TEXTS | {int, float, bool, type(None)}
_DECIMAL_BYTES: Final = Decimal().__sizeof__()

MOMENTS: Final = frozenset([datetime.datetime, datetime.time])
_ZONED: Final = MOMENTS | {datetime.timezone}
"""Types that show the name of a time zone, which may be long."""

_WEIGHTLESS: Final = frozenset([float, bool, type(None)])
_MOMENT_NODES: Final = 5
"""What two moments in different time zones weigh that are compared: each asks its zone."""

MAX_DIGIT_BYTES: Final = 2 * 1024 * 1024

ITEM_BYTES: Final = 16
ENTRY_BYTES: Final = 100


def dataclass_fields(kind: type) -> tuple[str, ...] | None:
    """Return the fields of a script's dataclass, None for any other type."""
    fields = getattr(kind, "_dataclass_", None)
    return fields if type(fields) is tuple else None


def _children(value: Any, kind: type) -> Collection[Any] | None:
    if kind in MAPPINGS:
        return [*value.keys(), *value.values()]
    if kind in SEQUENCES or kind in VIEWS:
        return value  # type: ignore[no-any-return]
    if type(kind) is not type and (fields := dataclass_fields(kind)) is not None:
        return [value.__dict__.get(name) for name in fields]
    return None


def spread(table: Any) -> Any:
    """Return the set or dict if C code may insert or look up all of its keys in one go.

    Raises: LimitError when too many keys share a hash.
    """
    if type(table) in HASHED:
        expect_few(_collisions(table))
    return table


def _collisions(table: Any) -> int:
    return count_collisions([key for key, _ in table] if type(table) is ITEMS_VIEW else table)


class Extent:
    """How much C code (or recursion) would visit of some values; what is shared counts each time it is reached."""

    __slots__ = ("collisions", "digits", "limit", "nodes", "scripted", "text")

    def __init__(self, limit: int = MAX_WALK_NODES) -> None:
        self.limit = limit
        self.nodes = self.text = self.collisions = self.digits = 0
        self.scripted = False
        """Whether there is an object of the script in there: its methods may run while C code is at work."""

    def add(self, value: Any) -> None:
        """Count one more value.

        Raises: LimitError when all is too large, holds too much text, or is nested too deep.
        """
        kind = type(value)
        if kind not in ATOMS:
            self._add_nested(value)
            return
        self.nodes += 1
        if kind is not float:
            self.text += len(value) if kind is str else _text_in(value)
            self._check()

    def _add_nested(self, value: Any) -> None:
        nodes, text, digits, limit = self.nodes, self.text, 0, self.limit
        level = [value]
        depth = 0
        while level:
            below: list[Any] = []
            for item in level:
                kind = type(item)
                # the two that nearly all data is made of are not copied first
                children: Collection[Any] | None
                if kind is dict:
                    size = 2 * len(item)
                    children = item.values()
                    if size > FEW:
                        children = [*item, *children]
                        self.collisions += count_collisions(item)
                    else:
                        try:
                            text += len("".join(item))  # keys mostly are short texts
                        except TypeError:
                            children = [*item, *children]
                            self.collisions += count_collisions(item)
                elif kind is list:
                    size, children = len(item), item
                else:
                    if type(kind) is not type:
                        self.scripted = True  # of a class that has a metaclass: the script's
                    children = _children(item, kind)
                    if children is None:
                        continue
                    size = len(children)
                    if kind in HASHED:
                        self.collisions += _collisions(item)
                nodes += size
                if nodes > limit:
                    break
                if size > FEW:
                    counted = self._count_large(item, children, size)
                    if counted is not None:
                        text += counted[0]
                        digits += counted[1]
                        continue
                for child in children:
                    kind = type(child)
                    if kind is str:
                        text += len(child)
                    elif kind is int:
                        digits += child.bit_length() >> 3
                    elif kind in _WEIGHTLESS:
                        continue
                    elif kind not in ATOMS:
                        below.append(child)
                    else:
                        text += _text_in(child)
                        nodes += _MOMENT_NODES if kind in MOMENTS else 0
            self.nodes, self.text = nodes, text + digits
            self._check(depth)
            level = below
            depth += 1
        self.digits += digits

    def _count_large(self, item: Any, children: Collection[Any], size: int) -> tuple[int, int] | None:
        """Return the bytes of text and of integers by C code where all children are of one plain type."""
        kinds = set(map(type, children))
        if len(kinds) != 1 or kinds.isdisjoint(_QUICKLY_COUNTED):
            return None
        if int in kinds:
            return 0, sum(map(int.bit_length, children)) >> 3
        return (0 if kinds.isdisjoint(TEXTS) else sum(map(len, children))), 0

    def _check(self, depth: int = 0) -> None:
        if self.nodes > self.limit:
            raise LimitError(f"the structure has more than {self.limit} values, shared ones counted each time")
        if self.text > MAX_WALK_TEXT:
            raise LimitError(f"the structure holds more than {MAX_WALK_TEXT} characters")
        if depth > MAX_WALK_NESTING:
            raise LimitError(f"the structure is nested deeper than {MAX_WALK_NESTING}")
        expect_few(self.collisions)


def _text_in(atom: Any) -> int:
    """Return the bytes of an atom that can be long."""
    kind = type(atom)
    if kind is int:
        return atom.bit_length() >> 3  # type: ignore[no-any-return]
    if kind in TEXTS:
        return len(atom)
    if kind is Decimal:
        return atom.__sizeof__() - _DECIMAL_BYTES  # type: ignore[no-any-return]
    if kind in _ZONED and type(zone := getattr(atom, "tzinfo", atom)) is datetime.timezone:
        return len(zone.tzname(None))
    return 0


def parts(value: Any) -> Iterator[Any]:
    """Yield a value that was walked, and all that it holds."""
    level = [value]
    while level:
        yield from level
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind not in ATOMS:
                below += _children(item, kind) or ()
        level = below


def expect_short_digits(value: Any, extent: Extent) -> None:
    """Refuse to write out many long integers in one go: each takes the square of its length."""
    if extent.digits > MAX_DIGIT_BYTES:
        size = sum([item.bit_length() >> 3 for item in parts(value) if type(item) is int])
        if size > MAX_DIGIT_BYTES:
            raise LimitError(f"the structure holds more than {MAX_DIGIT_BYTES} bytes of integers")


def expect_written(value: Any) -> None:
    """Refuse to write out a value whose texts alone are too long for one text: escapes make them ten times as long."""
    extent = Extent()
    extent.add(value)
    expect_length(extent.text)


def walk(value: Any) -> Any:
    """Return the value if C code (or recursion) may visit all of it now.

    Raises: LimitError.
    """
    if type(value) not in ATOMS:
        Extent().add(value)
    return value


def hashable(key: Any) -> Any:
    """Guard a key: hashing and comparing a tuple visits all of it. A frozenset was checked when it was made."""
    if type(key) is tuple:
        extent = Extent(MAX_KEY_NODES)
        extent.add(key)
        if extent.text > MAX_KEY_TEXT:
            raise LimitError(f"the key holds more than {MAX_KEY_TEXT} characters")
    return key


def sized_result(value: Any) -> Any:
    """Check and charge a value that an operation may have made large."""
    kind = type(value)
    if kind in TEXTS:
        size = len(value)
        if size > CHARGE_FROM:
            if size > MAX_TEXT:
                raise LimitError(f"the text is longer than {MAX_TEXT}")
            current_meter().charge(size if kind is bytes or value.isascii() else 4 * size)
    elif kind is int:
        if value.bit_length() > MAX_INT_BITS:
            raise LimitError(f"the integer has more than {MAX_INT_BITS} bits")
    elif kind in SIZED:
        size = len(value)
        if size > CHARGE_FROM // 8:
            if size > MAX_ITEMS:
                raise LimitError(f"the container has more than {MAX_ITEMS} items")
            current_meter().charge(size * (ENTRY_BYTES if kind in MAPPINGS or kind in SETS else ITEM_BYTES))
    return value


def count_marks(text: Any, marks: str) -> int:
    """Count some characters in a text or in bytes."""
    return sum([text.count(mark if type(text) is str else mark.encode()) for mark in marks])


def expect_length(size: int) -> None:
    """Check a text before it is made; it is charged when it is there."""
    if size > MAX_TEXT:
        raise LimitError(f"the result would be longer than {MAX_TEXT}")


def expect_text(size: int, unit_bytes: int = 1) -> None:
    """Check and charge a text before it is made."""
    expect_length(size)
    if size > CHARGE_FROM:
        current_meter().charge(size * unit_bytes)


def expect_items(count: int) -> None:
    """Check and charge a sequence before it is made."""
    if count > MAX_ITEMS:
        raise LimitError(f"the container would have more than {MAX_ITEMS} items")
    if count > CHARGE_FROM // 8:
        current_meter().charge(8 * count)


def expect_room(container: Any, more: Any) -> None:
    """Check that a container may take what is to be added."""
    if type(more) in SIZED and len(container) + len(more) > MAX_ITEMS:
        raise LimitError(f"the container would have more than {MAX_ITEMS} items")


def bounded(source: Iterable[Any], limit: int = MAX_ITEMS) -> Iterable[Any]:
    """Return an iterable that C code may consume whole: sized, or one that checks at every item."""
    kind = type(source)
    if kind in SIZED:
        if len(source) > (max(limit, MAX_TEXT) if kind in TEXTS else limit):  # type: ignore[arg-type]
            raise LimitError(f"more than {limit} items")
        return source
    return checked_items(iter(source), limit, current_meter())


def few(items: Iterable[Any]) -> Iterable[Any]:
    """Return what becomes a sequence: of a text, every character is an item, and takes its room."""
    if type(items) in TEXTS:
        expect_items(len(items))  # type: ignore[arg-type]
    return bounded(items)


def unpackable(source: Any) -> Any:
    """Return what a star may unpack: bounded, or not iterable, which the interpreter then says in its own words."""
    return bounded(source) if is_iterable(source) else source


def is_iterable(value: Any) -> bool:
    """Tell whether iter() would take the value, without calling anything of a script."""
    kind = type(value)
    return getattr(kind, "__iter__", None) is not None or hasattr(kind, "__getitem__")


def checked_items(source: Iterator[Any], limit: int, meter: Meter) -> Iterator[Any]:
    for count, item in enumerate(source, start=1):
        if count > limit:
            raise LimitError(f"more than {limit} items")
        if meter.reason is not None:
            meter.fail()
        yield item


def ticking(source: Iterator[Any]) -> Iterator[Any]:
    """Iterate without end, but stoppable."""
    meter = current_meter()
    for item in source:
        if meter.reason is not None or meter.finished:
            meter.fail()
        yield item
