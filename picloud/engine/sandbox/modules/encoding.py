"""json, base64, hashlib, hmac and uuid."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from picloud.engine.sandbox.class_model import ScriptClass
from picloud.engine.sandbox.comparing import snapshot
from picloud.engine.sandbox.limits import CHARGE_FROM, MAX_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.named_tuples import named_values
from picloud.engine.sandbox.sizes import (
    ATOMS,
    MAPPINGS,
    TEXTS,
    Extent,
    bounded,
    count_marks,
    expect_length,
    expect_short_digits,
    expect_text,
    parts,
    sized_result,
)
from picloud.engine.sandbox.stops import LimitError

MAX_LOADED: Final = 500_000
"""Containers in one JSON text: C code makes them in one go."""


def dump_json(
    value: Any,
    *,
    indent: int | str | None = None,
    sort_keys: bool = False,
    skipkeys: bool = False,
    ensure_ascii: bool = True,
    allow_nan: bool = True,
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
        value = snapshot(value, extent)
    expect_short_digits(value, extent)
    expect_length(extent.text)
    bare = default is None and indent is None and separators is None and ensure_ascii is allow_nan is True
    if bare and sort_keys is skipkeys is False:
        return sized_result(_ENCODER.encode(value))  # type: ignore[no-any-return]
    if sort_keys and extent.scripted:
        _expect_plain_keys(value)
    text = json.dumps(
        value,
        indent=indent,
        sort_keys=bool(sort_keys),
        skipkeys=bool(skipkeys),
        allow_nan=bool(allow_nan),
        ensure_ascii=bool(ensure_ascii),
        separators=separators,
        default=_named_items if default is None else _guarded(default, extent),
    )
    return sized_result(text)  # type: ignore[no-any-return]


def _expect_plain_keys(value: Any) -> None:
    """Refuse keys that are no JSON before they are sorted: their methods would run, and so may those of values."""
    for item in parts(value):
        if type(item) in MAPPINGS and not ATOMS.issuperset(map(type, item)):
            wrong = next(key for key in item if type(key) not in ATOMS)
            raise TypeError(f"keys must be str, int, float, bool or None, not {type(wrong).__name__}")


def _named_items(value: Any) -> Any:
    items = named_values(value)
    if items is None:
        raise TypeError(f"Object of type {type(value).__name__.rpartition('.')[2]} is not JSON serializable")
    return items


_ENCODER: Final = json.JSONEncoder(default=_named_items)
"""Made once: most calls name no option."""


def _guarded(default: Callable[[Any], Any], extent: Extent) -> Callable[[Any], Any]:
    """Guard `default=`: what it returns is written, too, and it may change what is written later."""
    return lambda value: snapshot(default(value), extent)


class JSONDecodeError(ValueError):
    """json.JSONDecodeError; the original would write into a text, unchecked, whatever a script makes it of."""


Hook = Callable[[Any], Any] | None


def load_json(
    s: Any,
    *,
    object_hook: Hook = None,
    parse_float: Hook = None,
    parse_int: Hook = None,
    parse_constant: Hook = None,
    object_pairs_hook: Hook = None,
) -> Any:
    """json.loads. A hook is handed what nobody else holds, and what it returns is only put in its place."""
    if type(s) not in TEXTS:
        raise TypeError(f"the JSON object must be str, bytes or bytearray, not {type(s).__name__}")
    if len(s) > MAX_TEXT:
        raise LimitError("the JSON text is too long")
    if len(s) > MAX_LOADED and count_marks(s, "[{") > MAX_LOADED:
        raise LimitError(f"the JSON text has more than {MAX_LOADED} containers")
    given: dict[str, Any] = {}
    if not (object_hook is parse_float is parse_int is parse_constant is object_pairs_hook is None):
        hooks = {
            "object_hook": object_hook,
            "parse_float": parse_float,
            "parse_int": parse_int,
            "parse_constant": parse_constant,
            "object_pairs_hook": object_pairs_hook,
        }
        given = {name: _stoppable(hook) for name, hook in hooks.items() if hook is not None}
    try:
        value = json.loads(s, **given)
    except json.JSONDecodeError as error:
        raise JSONDecodeError(str(error)) from None
    if len(s) > CHARGE_FROM:
        current_meter().charge(4 * len(s))
    return value


def _stoppable(hook: Any) -> Callable[[Any], Any]:
    """Guard a hook: C code calls it many times, and it need not be a function of the script, which has ticks."""
    meter = current_meter()

    def apply(found: Any) -> Any:
        if meter.reason is not None:
            meter.fail()
        return hook(found)

    return apply


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


_CODEC_OPTIONS: Final = {
    "b64encode": ("altchars",),
    "b64decode": ("altchars", "validate"),
    "b32decode": ("casefold", "map01"),
    "b32hexdecode": ("casefold",),
    "b16decode": ("casefold",),
}
"""What a function of base64 takes beside the data, in order."""


def _codec(name: str) -> Callable[..., bytes]:
    code = getattr(base64, name)
    options = _CODEC_OPTIONS.get(name, ())

    def apply(s: Any, /, *more: Any, **named: Any) -> bytes:
        expect_text(2 * len(s) if type(s) in TEXTS else 0)
        if len(more) > len(options) or not set(named) <= set(options[len(more) :]):
            raise TypeError(f"{name}() takes the data and {', '.join(options) or 'nothing else'}")
        given = {**dict(zip(options, more, strict=False)), **named}
        return sized_result(code(s, **{key: _codec_option(key, value) for key, value in given.items()}))  # type: ignore[no-any-return]

    apply.__name__ = name
    return apply


def _codec_option(name: str, value: Any) -> Any:
    if name == "casefold" or (name == "validate" and type(type(value)) is ScriptClass):
        return bool(value)
    if name == "validate":
        return value  # which values it takes hangs on Python's version
    if value is None or (type(value) in TEXTS and len(value) == (1 if name == "map01" else 2)):
        return value
    raise ValueError(f"{name} must be {'one character' if name == 'map01' else 'two characters'}")


_CODECS: Final = {
    f"{kind}{way}": _codec(f"{kind}{way}")
    for kind in ("b64", "standard_b64", "urlsafe_b64", "b32", "b32hex", "b16")
    for way in ("encode", "decode")
}


_BYTES, _INT = bytes, int


def make_uuid(
    hex: Any = None,  # noqa: A002
    bytes: Any = None,  # noqa: A002
    *,
    int: Any = None,  # noqa: A002
    version: Any = None,
) -> uuid.UUID:
    """uuid.UUID: of plain values, since a UUID is one, and no method of the script may hide in it."""
    for value, kinds in ((hex, {str}), (bytes, {_BYTES}), (int, {_INT, bool}), (version, {_INT, bool})):
        if value is not None and type(value) not in kinds:
            raise TypeError(f"UUID() takes hex (str), bytes, int and version (int), not {type(value).__name__}")
    return uuid.UUID(hex=hex, bytes=bytes, int=None if int is None else _INT(int), version=version)


def _named_uuid(make: Callable[[uuid.UUID, Any], uuid.UUID]) -> Callable[[Any, Any], uuid.UUID]:
    def apply(namespace: Any, name: Any) -> uuid.UUID:
        if type(namespace) is not uuid.UUID or type(name) is not str:
            raise TypeError(f"{make.__name__}() needs a UUID and a text")
        return make(namespace, name)

    apply.__name__ = make.__name__
    return apply


_UUIDS: Final = {
    "uuid3": _named_uuid(uuid.uuid3),
    "uuid4": uuid.uuid4,
    "uuid5": _named_uuid(uuid.uuid5),
    "UUID": make_uuid,
    **{f"NAMESPACE_{name}": getattr(uuid, f"NAMESPACE_{name}") for name in ("DNS", "URL", "OID", "X500")},
}

ENCODING: Final[Mapping[str, Mapping[str, Any]]] = {
    "json": {"dumps": dump_json, "loads": load_json, "JSONDecodeError": JSONDecodeError},
    "base64": _CODECS,
    "hashlib": _HASHES,
    "hmac": {"new": new_hmac, "compare_digest": compare_digest},
    "uuid": _UUIDS,
}
