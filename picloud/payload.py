"""Payloads on their way into the database: JSON that PostgreSQL's jsonb carries without loss, or a clear error."""

from __future__ import annotations

import json
import math
import sys
from typing import Any, NamedTuple

import orjson

from picloud.errors import InvalidPayload, PayloadTooLarge
from picloud.types import Json

MAX_PAYLOAD_BYTES = 1024 * 1024
"""Default limit of one payload, in bytes of JSON text."""
MAX_DEPTH = 100
"""Levels of nesting; deeper data is nearly always a mistake, and costs every reader a deep stack."""
MAX_INT_DIGITS = 4300
"""Digits of one integer: CPython's own limit for reading it back from text."""

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_ATOMS = frozenset([int, bool, type(None)])


class _Name(NamedTuple):
    """How errors call a value: the area that their text begins with, if any, and the value's own name."""

    area: str
    what: str

    def say(self, fault: str) -> str:
        return f"{self.area}: {self.what} {fault}" if self.area else f"{self.what} {fault}"


def encode_payload(
    value: Json, *, area: str = "queue", what: str = "payload", max_bytes: int = MAX_PAYLOAD_BYTES
) -> str:
    """Return `value` as compact JSON text.

    `area` is what the text of an error begins with, none where it is empty. `what` is how it names the value; paths in
    errors start with it (`payload.items[3]`).
    Raises: InvalidPayload, PayloadTooLarge.
    """
    # each value takes two bytes of text at least: no more need be looked at to know that it is too large
    _check_json(value, _Name(area, what), max_values=max_bytes // 2 + 1)
    text = write_json(value)
    check_size(len(text), what, max_bytes, area=area)
    return text.decode()


def write_json(value: Json) -> bytes:
    """Return compact JSON text of a value that was checked."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # an integer of more than 64 bits
        return _ENCODE(value).encode()


def decode_payload(
    text: str | bytes, *, area: str = "queue", what: str = "payload", max_bytes: int = MAX_PAYLOAD_BYTES
) -> Json:
    """Return the JSON value in `text`, checked as by `encode_payload`.

    Raises: InvalidPayload, PayloadTooLarge.
    """
    name = _Name(area, what)
    size = len(text) if isinstance(text, bytes) else len(text.encode(errors="surrogatepass"))
    check_size(size, what, max_bytes, area=area)
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidPayload(name.say(f"is nested deeper than {MAX_DEPTH} levels"), path=what) from None
    except (ValueError, UnicodeDecodeError) as error:
        raise InvalidPayload(name.say(f"is not JSON: {error}"), path=what) from None
    _check_json(value, name)
    return value


def check_size(size_bytes: int, what: str, max_bytes: int, *, area: str = "queue") -> None:
    """Refuse `size_bytes` above `max_bytes`.

    Raises: PayloadTooLarge that shows both.
    """
    if size_bytes > max_bytes:
        raise PayloadTooLarge(_Name(area, what).say(f"is {_size(size_bytes)}, the limit is {_size(max_bytes)}"))


def check_json(value: Json, what: str, *, area: str = "queue") -> None:
    """Walk `value` and refuse what JSON or jsonb cannot carry; the rest as in `encode_payload`."""
    _check_json(value, _Name(area, what))


def _check_json(value: Json, name: _Name, *, max_values: int | None = None) -> None:
    """Walk `value` and refuse what JSON or jsonb cannot carry, and more than `max_values` values in it.

    Raises: InvalidPayload whose text and `path` name the first such value, PayloadTooLarge.
    """
    left = sys.maxsize if max_values is None else max_values
    todo: list[tuple[Any, tuple[Any, ...]]] = [(value, ())]
    while todo:
        item, path = todo.pop()
        kind = type(item)
        if kind in _ATOMS:
            if kind is int and item.bit_length() > 14_000:
                raise _fault(name, path, f"has an integer of more than {MAX_INT_DIGITS} digits")
        elif kind is str:
            _check_text(item, name, path)
        elif kind is float:
            if not math.isfinite(item):
                raise _fault(name, path, f"has {item}, which JSON cannot carry")
        elif kind is dict or kind is list or kind is tuple:
            if len(path) >= MAX_DEPTH:
                raise InvalidPayload(name.say(f"is nested deeper than {MAX_DEPTH} levels"), path=name.what)
            left -= len(item)
            if left < 0:
                raise PayloadTooLarge(name.say("has more values than fit into the limit of its size"))
            _push_children(item, kind is dict, name, path, todo)
        else:
            raise _fault(name, path, f"has a {kind.__name__}, which JSON cannot carry")


def _push_children(
    item: Any, is_map: bool, name: _Name, path: tuple[Any, ...], todo: list[tuple[Any, tuple[Any, ...]]]
) -> None:
    if not is_map:
        todo.extend((child, (*path, at)) for at, child in enumerate(item))
        return
    for key, child in item.items():
        if type(key) is not str:
            raise _fault(name, path, f"has a key of type {type(key).__name__}: JSON keys are text")
        _check_text(key, name, (*path, key))
        todo.append((child, (*path, key)))


def _check_text(text: str, name: _Name, path: tuple[Any, ...]) -> None:
    if "\0" in text:
        raise _fault(name, path, "has a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _fault(name, path, "has a lone surrogate, which is not text") from None


def _fault(name: _Name, path: tuple[Any, ...], fault: str) -> InvalidPayload:
    shown = show_path(name.what, path)
    return InvalidPayload(name.say(f"{fault} at {shown}"), path=shown, pointer=_pointer(path))


def show_path(what: str, path: tuple[Any, ...]) -> str:
    """Return `path` as people write it: `payload.items[3].note`."""
    shown = what + "".join(f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" for part in path)
    return shown if len(shown) <= 200 else shown[:197] + "..."


def _pointer(path: tuple[Any, ...]) -> str:
    return "".join("/" + _printable(str(part)).replace("~", "~0").replace("/", "~1") for part in path)[:500]


def _printable(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON value")


def _size(count: int) -> str:
    if count >= 1024 * 1024:
        return f"{count / (1024 * 1024):.2g} MiB"
    if count >= 1024:
        return f"{count / 1024:.3g} KiB"
    return f"{count} bytes"
