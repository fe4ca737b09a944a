"""json, base64, hashlib, hmac, urllib.parse and uuid."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import urllib.parse
import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from picloud.engine.sandbox.limits import CHARGE_FROM, MAX_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import (
    MAPPINGS,
    SEQUENCES,
    TEXTS,
    Extent,
    bounded,
    expect_text,
    sized_result,
    snapshot,
    walk,
)
from picloud.engine.sandbox.stops import LimitError
from picloud.engine.sandbox.text import to_text

MAX_SAFE: Final = 256
"""Characters that quote() leaves alone."""


def dump_json(
    value: Any,
    *,
    indent: int | str | None = None,
    sort_keys: bool = False,
    ensure_ascii: bool = True,
    separators: tuple[str, str] | None = None,
    default: Any = None,
) -> str:
    """json.dumps."""
    if indent is not None:
        width = len(indent) if type(indent) is str else indent if type(indent) is int else 9
        if not 0 <= width <= 8:
            raise LimitError("indent must be a number from 0 to 8, or a text of at most 8 characters")
    if separators is not None:
        separators = tuple(bounded(separators, 2))
        if len(separators) != 2 or any(type(part) is not str or len(part) > 4 for part in separators):
            raise LimitError("separators must be two texts of at most 4 characters")
    extent = Extent()
    if default is None:
        extent.add(value)
    else:
        value, default = snapshot(value, extent), _guarded(default, extent)
    text = json.dumps(
        value,
        indent=indent,
        sort_keys=bool(sort_keys),
        ensure_ascii=bool(ensure_ascii),
        separators=separators,
        default=default,
    )
    return sized_result(text)  # type: ignore[no-any-return]


def _guarded(default: Callable[[Any], Any], extent: Extent) -> Callable[[Any], Any]:
    """Guard `default=`: what it returns is written, too, and it may change what is written later."""
    return lambda value: snapshot(default(value), extent)


class JSONDecodeError(ValueError):
    """json.JSONDecodeError; the original would write into a text, unchecked, whatever a script makes it of."""


def load_json(text: Any) -> Any:
    """json.loads."""
    if type(text) not in TEXTS:
        raise TypeError(f"the JSON object must be str, bytes or bytearray, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise LimitError("the JSON text is too long")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise JSONDecodeError(str(error)) from None
    if len(text) > CHARGE_FROM:
        current_meter().charge(4 * len(text))
    return value


class Digest:
    """A running hash."""

    __slots__ = ("_hash",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"update", "hexdigest", "digest"})

    def __init__(self, running: Any) -> None:
        self._hash = running

    def update(self, data: bytes) -> None:
        self._hash.update(_expect_bytes(data))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()  # type: ignore[no-any-return]

    def digest(self) -> bytes:
        return self._hash.digest()  # type: ignore[no-any-return]


def _expect_bytes(data: Any) -> bytes:
    if type(data) is not bytes:
        raise TypeError("bytes are needed: use text.encode()")
    return data


def _hasher(name: str) -> Callable[..., Digest]:
    make = getattr(hashlib, name)

    def start(data: bytes = b"") -> Digest:
        return Digest(make(_expect_bytes(data)))

    start.__name__ = name
    return start


_HASHES: Final = {name: _hasher(name) for name in "md5 sha1 sha224 sha256 sha384 sha512 blake2b blake2s".split()}


def new_hmac(key: bytes, msg: bytes = b"", digestmod: Any = "") -> Digest:
    """hmac.new."""
    names = [name for name, function in _HASHES.items() if digestmod is function]
    name = names[0] if names else digestmod
    if type(name) is not str or name not in _HASHES:
        raise ValueError(f"digestmod must be one of {', '.join(_HASHES)}")
    return Digest(hmac.new(_expect_bytes(key), _expect_bytes(msg), name))


def compare_digest(a: Any, b: Any) -> bool:
    """hmac.compare_digest."""
    if type(a) is not type(b) or type(a) not in TEXTS:
        raise TypeError("compare_digest needs two str or two bytes")
    return hmac.compare_digest(a, b)


def _codec(name: str) -> Callable[[Any], bytes]:
    code = getattr(base64, name)

    def apply(data: Any) -> bytes:
        expect_text(2 * len(data) if type(data) in TEXTS else 0)
        return sized_result(code(data))  # type: ignore[no-any-return]

    apply.__name__ = name
    return apply


_CODECS: Final = {
    f"{kind}{way}": _codec(f"{kind}{way}")
    for kind in ("b64", "urlsafe_b64", "b32", "b16")
    for way in ("encode", "decode")
}


def quote(text: Any, safe: str = "/") -> str:
    """urllib.parse.quote."""
    expect_text(3 * len(text))
    return sized_result(urllib.parse.quote(text, _short(safe)))  # type: ignore[no-any-return]


def quote_plus(text: Any, safe: str = "") -> str:
    """urllib.parse.quote_plus."""
    expect_text(3 * len(text))
    return sized_result(urllib.parse.quote_plus(text, _short(safe)))  # type: ignore[no-any-return]


def _short(safe: Any) -> Any:
    """Guard the characters that are not quoted: the library keeps them, for every app."""
    if len(safe) > MAX_SAFE:
        raise LimitError(f"safe is longer than {MAX_SAFE}")
    return safe


def unquote(text: str) -> str:
    """urllib.parse.unquote."""
    return sized_result(urllib.parse.unquote(text))  # type: ignore[no-any-return]


def url_encode(query: Any, doseq: bool = False) -> str:
    """urllib.parse.urlencode."""
    pairs: Any = query
    if type(query) in MAPPINGS:
        pairs = list(query.items())
    elif type(query) not in (list, tuple) or (query and type(query[0]) is not tuple):
        raise TypeError("not a valid non-string sequence or mapping object")
    shown = [
        tuple([_parameter(part, doseq and at == 1) for at, part in enumerate(bounded(pair, 2))])
        for pair in bounded(pairs)
    ]
    return sized_result(urllib.parse.urlencode(walk(shown), bool(doseq)))  # type: ignore[no-any-return]


def _parameter(value: Any, doseq: bool) -> Any:
    """Return a part of a query as text that our own str() made."""
    if doseq and (type(value) in SEQUENCES or type(value) in MAPPINGS):
        return [_parameter(item, False) for item in bounded(value)]
    return value if type(value) in TEXTS else to_text(value)


def parse_query(text: str) -> dict[str, list[str]]:
    """urllib.parse.parse_qs."""
    return urllib.parse.parse_qs(text, max_num_fields=1000)


_PARSE: Final = {
    "quote": quote,
    "quote_plus": quote_plus,
    "unquote": unquote,
    "urlencode": url_encode,
    "parse_qs": parse_query,
}

ENCODING: Final[Mapping[str, Mapping[str, Any]]] = {
    "json": {"dumps": dump_json, "loads": load_json, "JSONDecodeError": JSONDecodeError},
    "base64": _CODECS,
    "hashlib": _HASHES,
    "hmac": {"new": new_hmac, "compare_digest": compare_digest},
    "urllib.parse": _PARSE,
    "uuid": {"uuid4": uuid.uuid4, "UUID": lambda text: uuid.UUID(text)},
}
