"""re, on the `regex` package: it can be given a time limit, and lets go of the GIL meanwhile."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import regex

from picloud.engine.sandbox.iteration import generated
from picloud.engine.sandbox.limits import MAX_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import TEXTS, expect_text, hashable, sized_result, ticking
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
        text = args[1 if name in ("sub", "subn") else 0]
        if type(text) not in TEXTS:
            raise TypeError(f"expected string or bytes-like object, got '{type(text).__name__}'")
        meter = current_meter()
        meter.check()
        limit = max(0.01, min(LONGEST_MATCH, meter.remaining()))
        try:
            return getattr(self._pattern, name)(*args, timeout=limit, concurrent=True)
        except TimeoutError:
            raise LimitError("the regular expression took too long") from None

    def match(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        return self._run("match", string, pos, endpos)

    def search(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        return self._run("search", string, pos, endpos)

    def fullmatch(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        return self._run("fullmatch", string, pos, endpos)

    def findall(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        return sized_result(self._run("findall", string, pos, endpos))

    def finditer(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        return generated(ticking(iter(self._run("finditer", string, pos, endpos))))

    def split(self, string: Any, maxsplit: int = 0) -> Any:
        return sized_result(self._run("split", string, maxsplit))

    def sub(self, repl: Any, string: Any, count: int = 0) -> Any:
        return sized_result(self._run("sub", _bounded_replacement(repl, string), string, count))

    def subn(self, repl: Any, string: Any, count: int = 0) -> Any:
        replaced, times = self._run("subn", _bounded_replacement(repl, string), string, count)
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
        hash(hashable(pattern))
        raise TypeError("first argument must be string or compiled pattern")
    if len(pattern) > MAX_PATTERN:
        raise LimitError(f"the pattern is longer than {MAX_PATTERN} characters")
    text = pattern if type(pattern) is str else pattern.decode("latin-1")
    for repeat in _REPEATS.findall(text):
        if any(len(bound) > 4 or int(bound or 0) > MAX_REPEAT for bound in repeat):
            raise LimitError(f"a repeat count is larger than {MAX_REPEAT}")
    if int(flags) & ~_FLAGS:
        raise ValueError("the flag is not available")
    return Pattern(regex.compile(pattern, int(flags)))


def _searching(name: str) -> Callable[..., Any]:
    def apply(pattern: Any, string: Any, flags: int = 0) -> Any:
        return getattr(compile_pattern(pattern, flags), name)(string)

    apply.__name__ = name
    return apply


def _replacing(name: str) -> Callable[..., Any]:
    def apply(pattern: Any, repl: Any, string: Any, count: int = 0, flags: int = 0) -> Any:
        return getattr(compile_pattern(pattern, flags), name)(repl, string, count)

    apply.__name__ = name
    return apply


def split(pattern: Any, string: Any, maxsplit: int = 0, flags: int = 0) -> Any:
    """re.split."""
    return compile_pattern(pattern, flags).split(string, maxsplit)


def escape(text: Any) -> Any:
    """re.escape."""
    return sized_result(re.escape(text))


_FLAG_NAMES = "IGNORECASE I MULTILINE M DOTALL S VERBOSE X ASCII A".split()

PATTERNS: Final[Mapping[str, Mapping[str, Any]]] = {
    "re": {
        **{name: _searching(name) for name in "match search fullmatch findall finditer".split()},
        **{name: _replacing(name) for name in ("sub", "subn")},
        "split": split,
        **{name: int(getattr(regex, name)) for name in _FLAG_NAMES},
        "compile": compile_pattern,
        "escape": escape,
        "error": regex.error,
    },
}
