"""str.format for scripts: fields by name or place, written as f-strings write them; nothing is read of the values.

Python's own looks into attributes and items as the template says, with the host's rights.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Any, Final

from picloud.engine.sandbox.class_model import ScriptClass
from picloud.engine.sandbox.limits import CHARGE_FROM, MAX_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import MAPPINGS
from picloud.engine.sandbox.stops import LimitError
from picloud.engine.sandbox.text import format_field

Find = Callable[[str], Any]
"""Returns what a field stands for."""

_parse: Final = string.Formatter().parse
"""Splits a template and does nothing else."""
_NESTING: Final = 2
_CONVERSIONS: Final = {"r": 114, "s": 115, "a": 97, None: -1}
_MAX_PLACE_DIGITS: Final = 9


def format_text(template: str, /, *args: Any, **kwargs: Any) -> str:
    """str.format."""
    return _filled(template, _Arguments(args, kwargs).find)


def format_mapping(template: str, mapping: Any, /) -> str:
    """str.format_map."""
    if type(mapping) not in MAPPINGS and type(type(mapping)) is not ScriptClass:
        raise TypeError("format_map() needs a dict")

    def find(name: str) -> Any:
        if name == "" or name.isdecimal():
            raise ValueError("Format string contains positional fields")
        return mapping[name]

    return _filled(template, find)


class _Arguments:
    """The arguments of one format(): by place, counted or given, and by name."""

    def __init__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._args = args
        self._kwargs = kwargs
        self._next = 0
        self._counts: bool | None = None
        """Whether the places are counted; they are all, or none is."""

    def find(self, name: str) -> Any:
        if name and not name.isdecimal():
            return self._kwargs[name]
        if len(name) > _MAX_PLACE_DIGITS:
            raise ValueError("Too many decimal digits in format string")
        if self._counts not in (None, not name):
            kinds = ("manual field specification", "automatic field numbering")
            was, now = kinds if not name else reversed(kinds)
            raise ValueError(f"cannot switch from {was} to {now}")
        self._counts = not name
        place = int(name) if name else self._next
        self._next += not name
        if place >= len(self._args):
            raise IndexError(f"Replacement index {place} out of range for positional args tuple")
        return self._args[place]


def _filled(template: str, find: Find, nesting: int = _NESTING) -> str:
    if nesting == 0:
        raise ValueError("Max string recursion exceeded")
    meter = current_meter()
    parts: list[str] = []
    size = 0
    for literal, name, spec, conversion in _parse(template):
        part = literal if name is None else literal + _field(name, spec or "", conversion, find, nesting)
        parts.append(part)
        size += len(part)
        if size > MAX_TEXT:
            raise LimitError(f"the result would be longer than {MAX_TEXT}")
        if meter.reason is not None:
            meter.fail()
    text = "".join(parts)
    if size > CHARGE_FROM:
        meter.charge(size if text.isascii() else 4 * size)
    return text


def _field(name: str, spec: str, conversion: str | None, find: Find, nesting: int) -> str:
    if "." in name or "[" in name:
        raise ValueError(f"the field '{{{name[:100]}}}' looks into its value, which is not available: use an f-string")
    value = find(name)
    if conversion not in _CONVERSIONS:
        raise ValueError(f"Unknown conversion specifier {conversion}")
    return format_field(value, _CONVERSIONS[conversion], _filled(spec, find, nesting - 1) if spec else "")
