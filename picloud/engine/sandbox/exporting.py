"""Bring a script's value out as plain JSON data: new containers, nothing of the script in them."""

from __future__ import annotations

import base64
import datetime
import json
import math
import uuid
from typing import Any

import orjson

from picloud.engine.sandbox.decimals import Decimal
from picloud.engine.sandbox.limits import MAX_WALK_NESTING
from picloud.engine.sandbox.meter import Meter
from picloud.engine.sandbox.named_tuples import named_values
from picloud.engine.sandbox.records import Record
from picloud.engine.sandbox.sizes import MAPPINGS, SEQUENCES, Extent, expect_short_digits
from picloud.engine.sandbox.stops import ExportError, LimitError

MAX_PATH = 500
"""Characters of a path in an error."""

_PLAIN = frozenset([int, bool, str, type(None)])
_QUICK = frozenset([bool, type(None)])
_DATES = frozenset([datetime.datetime, datetime.date, datetime.time])


def export_value(value: Any, *, path: str = "result", meter: Meter) -> Any:
    """Return `value` as JSON data.

    Shape: dates as ISO text; Decimal and UUID as text; bytes as base64; tuples, sets and deques as lists.
    Raises: ExportError that names the path of what JSON cannot carry; LimitError for too much of it.
    """
    if type(value) in _QUICK:
        return value
    extent = Extent()
    extent.add(value)
    expect_short_digits(value, extent)
    if extent.text > meter.limits.result_bytes:
        raise LimitError(
            f"{path} is more than {extent.text} characters of JSON, the limit is {meter.limits.result_bytes}"
        )
    exported = _export(value, path, 0)
    _check_size(exported, path, meter.limits.result_bytes)
    return exported


def _check_size(exported: Any, path: str, limit: int) -> None:
    try:
        # without the space after each comma and colon: at most half as long
        if len(orjson.dumps(exported)) * 2 <= limit:
            return
    except orjson.JSONEncodeError:
        pass  # a large integer, or a surrogate
    size = len(json.dumps(exported, ensure_ascii=False))
    if size > limit:
        raise LimitError(f"{path} is {size} characters of JSON, the limit is {limit}")


def _export(value: Any, path: str, depth: int) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        if not math.isfinite(value):
            raise ExportError(f"{path}: {value} is not JSON")
        return value
    if depth > MAX_WALK_NESTING:
        raise LimitError(f"{path}: nested deeper than {MAX_WALK_NESTING}")
    if kind in MAPPINGS:
        pairs = [(_key(key, path), item) for key, item in value.items()]
        return {name: _export(item, _below(path, f".{name[:MAX_PATH]}"), depth + 1) for name, item in pairs}
    named = named_values(value)
    if kind in SEQUENCES or isinstance(value, Record) or named is not None:
        items = value if named is None else named
        return [_export(item, _below(path, f"[{at}]"), depth + 1) for at, item in enumerate(items)]
    if kind in _DATES:
        return value.isoformat()
    if kind is Decimal or kind is uuid.UUID:
        return str(value)
    if kind is bytes:
        return base64.b64encode(value).decode("ascii")
    raise ExportError(f"{path}: '{kind.__name__}' object is not JSON")


def _below(path: str, step: str) -> str:
    """Return the path of a part; a long one is not made longer, since every part has one."""
    return path + step if len(path) < MAX_PATH else path


def _key(key: Any, path: str) -> str:
    kind = type(key)
    if kind is str:
        return key  # type: ignore[no-any-return]
    if kind is bool or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if kind is int or kind is float:
        return str(key)
    raise ExportError(f"{path}: a key of type '{kind.__name__}' is not JSON")
