"""`template % values`: every value shows itself when C code asks for it, under one budget for all of them."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from typing import Any

from picloud.engine.sandbox.containers import Deque
from picloud.engine.sandbox.limits import CHARGE_FROM, MAX_FORMAT_WIDTH, MAX_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import ATOMS, TEXTS, sized_result
from picloud.engine.sandbox.stops import LimitError
from picloud.engine.sandbox.text import to_repr, to_text

_LONGEST_FLOAT = 320
"""Characters of `%f` without its precision."""
_PERCENT = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?")


def percent(template: str | bytes, values: Any) -> Any:
    """`template % values`."""
    shown = template if isinstance(template, str) else template.decode("latin-1")
    size = len(template)
    for number in itertools.chain.from_iterable(_PERCENT.findall(shown)):
        if number == "*" or len(number) > 5 or (number and int(number) > MAX_FORMAT_WIDTH):
            raise LimitError(f"the width in a % format is larger than {MAX_FORMAT_WIDTH} or a *")
        size += int(number or 0)
    budget = _Budget()
    budget.spend(size)
    if type(values) is tuple:
        return sized_result(template % tuple([budget.argument(value) for value in values]))
    return sized_result(template % budget.argument(values))


class _Budget:
    """How long the texts of one % format may become together; they are charged before they are put together."""

    __slots__ = ("_due", "_left")

    def __init__(self) -> None:
        self._left = MAX_TEXT
        self._due = 0

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise LimitError(f"the result would be longer than {MAX_TEXT}")
        self._due += size
        if self._due > CHARGE_FROM:
            current_meter().charge(self._due)
            self._due = 0

    def shown(self, text: str) -> str:
        self.spend(len(text))
        return text

    def argument(self, value: Any) -> Any:
        """Return what stands for a value: it goes by the name of the value's type, since errors say it."""
        kind = type(value)
        if kind in ATOMS:
            self.spend(_length(value))
            return value
        return _argument_type(kind.__name__, kind is not Deque and hasattr(kind, "__getitem__"))(value, self)


def _length(atom: Any) -> int:
    kind = type(atom)
    if kind in TEXTS:
        return len(atom)
    if kind is int:
        return atom.bit_length() // 3 + 2  # type: ignore[no-any-return]
    return _LONGEST_FLOAT if kind is float else len(str(atom))


class _Argument:
    """A value of a % format: its text is made under the limits, and when it is asked for."""

    __slots__ = ("_budget", "_value")

    def __init__(self, value: Any, budget: _Budget) -> None:
        self._value = value
        self._budget = budget

    def __str__(self) -> str:
        return self._budget.shown(to_text(self._value))

    def __repr__(self) -> str:
        return self._budget.shown(to_repr(self._value))


class _Mapping(_Argument):
    """A value that `%(key)s` may look into."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return self._budget.argument(self._value[key])


@lru_cache(256)
def _argument_type(name: str, is_mapping: bool) -> type[_Argument]:
    return type(name, (_Mapping if is_mapping else _Argument,), {"__slots__": ()})
