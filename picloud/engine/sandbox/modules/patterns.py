"""re, on the `regex` package: it can be given a time limit, and lets go of the GIL meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import regex

from picloud.engine.sandbox.iteration import generated
from picloud.engine.sandbox.limits import MAX_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import TEXTS, expect_text, sized_result, ticking
from picloud.engine.sandbox.stops import LimitError

MAX_PATTERN: Final = 1000
MAX_REPEAT: Final = 1000
LONGEST_MATCH: Final = 0.5
"""Seconds one search may take."""
_FLAGS: Final = int(regex.I | regex.M | regex.S | regex.X | regex.A)
_REPEATS = re.compile(r"\{(\d*),?(\d*)\}")


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_pattern",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset(
        {"match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn", "pattern"}
    )

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern

    @property
    def pattern(self) -> Any:
        return self._pattern.pattern

    def _run(self, name: str, *args: Any) -> Any:
        meter = current_meter()
        meter.check()
        limit = max(0.01, min(LONGEST_MATCH, meter.remaining()))
        try:
            return getattr(self._pattern, name)(*args, timeout=limit, concurrent=True)
        except TimeoutError:
            raise LimitError("the regular expression took too long") from None

    def match(self, text: Any) -> Any:
        return self._run("match", text)

    def search(self, text: Any) -> Any:
        return self._run("search", text)

    def fullmatch(self, text: Any) -> Any:
        return self._run("fullmatch", text)

    def findall(self, text: Any) -> Any:
        return sized_result(self._run("findall", text))

    def finditer(self, text: Any) -> Any:
        return generated(ticking(iter(self._run("finditer", text))))

    def split(self, text: Any, maxsplit: int = 0) -> Any:
        return sized_result(self._run("split", text, maxsplit))

    def sub(self, replacement: Any, text: Any, count: int = 0) -> Any:
        return sized_result(self._run("sub", _bounded_replacement(replacement, text), text, count))

    def subn(self, replacement: Any, text: Any, count: int = 0) -> Any:
        replaced, times = self._run("subn", _bounded_replacement(replacement, text), text, count)
        return sized_result(replaced), times


def _bounded_replacement(replacement: Any, text: Any) -> Any:
    if type(replacement) in TEXTS:
        if len(replacement) > 64:
            expect_text(len(replacement) * (len(text) + 1))
        return replacement
    total = 0

    def replace(match: Any) -> Any:
        nonlocal total
        piece = replacement(match)
        total += len(piece)
        if total > MAX_TEXT:
            raise LimitError("the result is too long")
        return piece

    return replace


def compile_pattern(pattern: Any, flags: int = 0) -> Pattern:
    """re.compile."""
    if type(pattern) is Pattern:
        return pattern
    if type(pattern) not in TEXTS:
        raise TypeError("the pattern must be str or bytes")
    if len(pattern) > MAX_PATTERN:
        raise LimitError(f"the pattern is longer than {MAX_PATTERN} characters")
    text = pattern if type(pattern) is str else pattern.decode("latin-1")
    for repeat in _REPEATS.findall(text):
        if any(len(bound) > 4 or int(bound or 0) > MAX_REPEAT for bound in repeat):
            raise LimitError(f"a repeat count is larger than {MAX_REPEAT}")
    if int(flags) & ~_FLAGS:
        raise ValueError("the flag is not available")
    return Pattern(regex.compile(pattern, int(flags)))


def _function(name: str) -> Callable[..., Any]:
    def apply(pattern: Any, *args: Any, flags: int = 0, **kwargs: Any) -> Any:
        return getattr(compile_pattern(pattern, flags), name)(*args, **kwargs)

    apply.__name__ = name
    return apply


def escape(text: Any) -> Any:
    """re.escape."""
    return sized_result(re.escape(text))


_FUNCTIONS = "match search fullmatch findall finditer sub subn split".split()
_FLAG_NAMES = "IGNORECASE I MULTILINE M DOTALL S VERBOSE X ASCII A".split()

PATTERNS: Final[Mapping[str, Mapping[str, Any]]] = {
    "re": {
        **{name: _function(name) for name in _FUNCTIONS},
        **{name: int(getattr(regex, name)) for name in _FLAG_NAMES},
        "compile": compile_pattern,
        "escape": escape,
        "error": regex.error,
    },
}
