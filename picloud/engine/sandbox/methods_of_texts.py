"""Guarded methods of str, bytes and numbers: each takes the value first, then what the method takes."""

from __future__ import annotations

import operator
from typing import Any, Final

from picloud.engine.sandbox.limits import CHARGE_FROM, KIB, MAX_TEXT, MAX_WALK_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import (
    SIZED,
    TEXTS,
    count_marks,
    expect_items,
    expect_room,
    expect_text,
    few,
    is_iterable,
    sized_result,
    walk,
)
from picloud.engine.sandbox.stops import LimitError

SPLIT_AT_ONCE: Final = 64 * KIB
"""Longer texts are split in steps."""
_STEP: Final = 16 * KIB
_LINE_ENDS: Final[dict[type, str]] = {str: "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", bytes: "\n\r"}


def _padding(name: str) -> Any:
    def pad(text: Any, width: Any, *fill: Any) -> Any:
        if type(width) is int and width > MAX_TEXT:
            raise LimitError(f"the result would be longer than {MAX_TEXT}")
        return sized_result(getattr(text, name)(width, *fill))

    return pad


def _growing(name: str) -> Any:
    def grow(text: Any, *args: Any, **kwargs: Any) -> Any:
        return sized_result(getattr(text, name)(*args, **kwargs))

    return grow


def _expect_cheap_search(sub: Any, text: Any) -> None:
    if type(sub) in TEXTS and len(sub) > 16 and len(sub) * len(text) > 4 * MAX_WALK_TEXT:
        raise LimitError("the search from the end is too expensive")


def _searching_backwards(name: str) -> Any:
    def search(text: Any, *args: Any, **kwargs: Any) -> Any:
        _expect_cheap_search(args[0] if args else None, text)
        return sized_result(getattr(text, name)(*args, **kwargs))

    return search


def _stripping(name: str) -> Any:
    def strip(text: Any, chars: Any = None) -> Any:
        if type(chars) in TEXTS and len(chars) > 64 and len(chars) * len(text) > MAX_WALK_TEXT:
            raise LimitError("too many characters to strip")
        return sized_result(getattr(text, name)(chars))

    return strip


def _comparing_ends(name: str) -> Any:
    def compare(text: Any, affix: Any, *args: Any) -> Any:
        if type(affix) is tuple:
            walk(affix)
        return getattr(text, name)(affix, *args)

    return compare


def replace(text: Any, old: Any, new: Any, count: Any = -1) -> Any:
    if type(old) is type(new) is type(text) and len(new) > len(old):
        found = text.count(old) if old else len(text) + 1
        if count >= 0:
            found = min(found, count)
        expect_text(len(text) + found * (len(new) - len(old)))
    return sized_result(text.replace(old, new, count))


def join(separator: Any, items: Any) -> Any:
    if type(items) is list:
        parts = items
    elif is_iterable(items):
        parts = _parts(items)
    else:
        return separator.join(items)  # says what it needs
    kind = type(separator)
    size = len(separator) * len(parts)
    for part in parts:
        if type(part) is not kind:
            break  # join() itself names the item that does not fit
        size += len(part)
    else:
        expect_text(size)
    return separator.join(parts)


def _parts(items: Any) -> list[Any]:
    if type(items) not in SIZED:
        try:
            items = iter(items)
        except TypeError:
            raise TypeError("can only join an iterable") from None
    return list(few(items))


def translate(text: str, table: Any) -> Any:
    if type(table) is not dict:
        raise TypeError("translate() needs a dict, as str.maketrans makes it")
    # a copy without keys whose __eq__ could change the table meanwhile
    table = {code: new for code, new in table.items() if type(code) is int}
    longest = max([len(new) for new in table.values() if type(new) is str], default=1)
    expect_text(len(text) * max(1, longest))
    return sized_result(text.translate(table))


def expand_tabs(text: str, tabsize: Any = 8) -> Any:
    if type(tabsize) not in (int, bool):
        return text.expandtabs(tabsize)  # says what it needs
    if tabsize > 100:
        raise LimitError("tabsize is larger than 100")
    if len(text) * max(1, tabsize) > CHARGE_FROM:
        expect_text(len(text) + text.count("\t") * max(0, tabsize))
    return sized_result(text.expandtabs(tabsize))


def split(text: Any, sep: Any = None, maxsplit: Any = -1) -> Any:
    if len(text) > SPLIT_AT_ONCE:
        return _split_in_steps(text, sep, maxsplit, at=-1)
    return sized_result(text.split(sep, maxsplit))


def split_from_end(text: Any, sep: Any = None, maxsplit: Any = -1) -> Any:
    _expect_cheap_search(sep, text)
    if len(text) > SPLIT_AT_ONCE:
        return _split_in_steps(text, sep, maxsplit, at=0)
    return sized_result(text.rsplit(sep, maxsplit))


def _split_in_steps(text: Any, sep: Any, maxsplit: Any, *, at: int) -> list[Any]:
    """Split at all of a long text's separators, some thousands at a time; `at` is where the rest of it stands."""
    apply = type(text).split if at else type(text).rsplit
    left = operator.index(maxsplit)
    left = MAX_TEXT if left < 0 else left
    meter = current_meter()
    parts: list[Any] = []
    while True:
        step = min(left, _STEP)
        part = apply(text, sep, step)
        expect_room(parts, part)
        if len(part) <= step or step == left:
            parts += part if at else reversed(part)
            break
        text = part.pop(at)
        parts += part if at else reversed(part)
        left -= step
        if meter.reason is not None:
            meter.fail()
    if not at:
        parts.reverse()
    return sized_result(parts)  # type: ignore[no-any-return]


def split_lines(text: Any, keepends: Any = False) -> Any:
    if len(text) > SPLIT_AT_ONCE:
        expect_items(count_marks(text, _LINE_ENDS[type(text)]))
    return sized_result(text.splitlines(keepends))


def int_to_bytes(number: int, length: Any = 1, byteorder: Any = "big", *, signed: Any = False) -> bytes:
    if type(length) is int and length > 100_000:
        raise LimitError("the length is larger than 100000")
    return number.to_bytes(length, byteorder, signed=signed)


PADDING = {name: _padding(name) for name in ("ljust", "rjust", "center", "zfill")}
GROWING = {name: _growing(name) for name in ("upper", "lower", "casefold", "title", "swapcase", "capitalize")}
BACKWARDS = {name: _searching_backwards(name) for name in ("rfind", "rindex", "rpartition")}
STRIPPING = {name: _stripping(name) for name in ("strip", "lstrip", "rstrip")}
ENDS = {name: _comparing_ends(name) for name in ("startswith", "endswith")}
SPLITTING = {name: _growing(name) for name in ("partition", "removeprefix", "removesuffix", "hex")}
