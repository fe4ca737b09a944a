"""re, on the `regex` package: it can be given a time limit, and lets go of the GIL meanwhile."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import regex

from picloud.engine.sandbox.iteration import generated
from picloud.engine.sandbox.limits import MAX_ITEMS, MAX_TEXT, MAX_WALK_TEXT
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import TEXTS, bounded, expect_text, hashable, sized_result, ticking
from picloud.engine.sandbox.stops import LimitError

MAX_PATTERN: Final = 1000
MAX_REPEAT: Final = 1000
LONGEST_MATCH: Final = 0.5
"""Seconds one search may take."""
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_KNOWN_ESCAPES: Final = frozenset("gabfnrtv")
_FLAGS: Final = int(regex.I | regex.M | regex.S | regex.X | regex.A)
_REPEATS = re.compile(r"\{(\d*),?(\d*)\}")
_PIECES = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\\\]])*\]|\{(?P<count>\d+)(?:,\d*)?\}|.", re.DOTALL)
_RECURSION = re.compile(r"\(\?(?:R|&|P>|[+-]?\d)")
"""Not in Python's own re; it takes memory without end."""
_HIDING = re.compile(r"\(\?(?:#|[A-Za-z0-9-]*x)")
"""Comments: what looks like brackets may be none."""
MAX_COMPILED: Final = 20_000
"""Pieces of a pattern after its repeats are written out, which `regex` does; nested ones multiply."""


class PatternError(Exception):
    """re.error; the original would write into a text, unchecked, whatever a script makes it of."""


PatternError.__name__ = PatternError.__qualname__ = "error"


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
        except regex.error as error:  # of a replacement
            raise PatternError(str(error)) from None

    def match(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        return self._run("match", string, pos, endpos)

    def search(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        return self._run("search", string, pos, endpos)

    def fullmatch(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        return self._run("fullmatch", string, pos, endpos)

    def findall(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        if not self._may_copy_much(string) and not (type(string) in TEXTS and len(string) > MAX_ITEMS):
            return sized_result(self._run("findall", string, pos, endpos))
        empty = "" if type(string) is str else b""
        matches = bounded(self._charged(string, pos, endpos))
        if self._pattern.groups == 0:
            return sized_result([match.group() for match in matches])
        groups = [match.groups(empty) for match in matches]
        return sized_result(groups if self._pattern.groups > 1 else [group for (group,) in groups])

    def finditer(self, string: Any, pos: int = 0, endpos: int = sys.maxsize) -> Any:
        return generated(self._matches(self._run("finditer", string, pos, endpos)))

    def _may_copy_much(self, text: Any) -> bool:
        """Tell whether the groups of all matches, which may overlap, can hold much more than the text."""
        return type(text) in TEXTS and self._pattern.groups * len(text) ** 2 > MAX_WALK_TEXT

    def _charged(self, *args: Any) -> Iterator[Any]:
        for match in self._matches(self._run("finditer", *args)):
            _expect_groups(match)
            yield match

    def _matches(self, found: Any) -> Iterator[Any]:
        try:
            yield from ticking(iter(found))
        except TimeoutError:
            raise LimitError("the regular expression took too long") from None

    def split(self, string: Any, maxsplit: int = 0) -> Any:
        if self._may_copy_much(string):
            for _ in self._charged(string):
                pass
        return sized_result(self._run("split", string, maxsplit))

    def sub(self, repl: Any, string: Any, count: int = 0) -> Any:
        return sized_result(self._run("sub", _bounded_replacement(repl, string), string, count))

    def subn(self, repl: Any, string: Any, count: int = 0) -> Any:
        replaced, times = self._run("subn", _bounded_replacement(repl, string), string, count)
        return sized_result(replaced), times


def _bounded_replacement(replacement: Any, text: Any) -> Any:
    make = replacement
    if type(replacement) in TEXTS:
        if ("\\" if type(replacement) is str else b"\\") not in replacement:
            if len(replacement) > 64:
                expect_text(len(replacement) * (len(text) + 1))
            return replacement
        if len(replacement) > MAX_PATTERN:
            raise LimitError(f"the replacement has a backslash and is longer than {MAX_PATTERN} characters")
        _expect_escapes(replacement)
        # what groups hold may overlap, and be much more than the text
        make = partial(_expand, replacement)
    elif not callable(replacement):
        hash(hashable(replacement))
        raise TypeError(f"decoding to str: need a bytes-like object, {type(replacement).__name__} found")
    total = 0

    def replace(match: Any) -> Any:
        nonlocal total
        piece = make(match)
        total += len(piece)
        if total > MAX_TEXT:
            raise LimitError("the result is too long")
        return piece

    return replace


def _expect_escapes(template: str | bytes) -> None:
    r"""Refuse escapes that Python's `re` does not know in a replacement (`\x41`); `regex` knows more."""
    text = template if isinstance(template, str) else template.decode("latin-1")
    for letter in _ESCAPED.findall(text):
        if letter.isascii() and letter.isalpha() and letter not in _KNOWN_ESCAPES:
            raise PatternError(f"bad escape \\{letter}")


def _expand(template: Any, match: Any) -> Any:
    _expect_groups(match)
    return match.expand(template)


def _expect_groups(match: Any, groups: Sequence[Any] | None = None) -> None:
    """Check and charge the texts of a match's groups before they are made: each is a copy."""
    numbers = range(match.re.groups + 1) if groups is None else groups
    expect_text(sum([end - start for start, end in map(match.span, numbers)]))


def _match_method(name: str) -> Callable[..., Any]:
    read = getattr(_MATCH, name)

    def guarded(match: Any, *args: Any) -> Any:
        _expect_groups(match, args if name == "group" else None)
        return read(match, *args)

    return guarded


_MATCH: Final = type(regex.match("a", "a"))
MATCH_ATTRIBUTES: Final[dict[str, Callable[..., Any] | None]] = {
    **dict.fromkeys("start end span pos endpos lastindex lastgroup".split()),
    **{name: _match_method(name) for name in ("group", "groups", "groupdict")},
}
"""The attributes of a match, as in `attributes`."""


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
    if _RECURSION.search("".join([piece[0] if len(piece[0]) == 1 else "_" for piece in _PIECES.finditer(text)])):
        raise PatternError("recursion is not available")
    if _compiled_size(text, bool(int(flags) & regex.X)) > MAX_COMPILED:
        raise LimitError("the repeats of the pattern multiply to more than is available")
    try:
        return Pattern(regex.compile(pattern, int(flags)))
    except regex.error as error:
        raise PatternError(str(error)) from None


def _compiled_size(pattern: str, verbose: bool) -> int:
    """Return how many pieces a pattern becomes, or more than that."""
    counts = [int(low) for low, _ in _REPEATS.findall(pattern) if low and int(low) > 1]
    if math.prod(counts) * len(pattern) <= MAX_COMPILED:
        return 0
    sizes, last = [0], 0
    for piece in _PIECES.finditer(pattern):
        text = piece[0]
        if piece["count"]:
            size = last * max(1, int(piece["count"]))
            sizes[-1] += size - last
            last = size
        elif text == "(":
            sizes.append(0)
        elif text == ")" and len(sizes) > 1:
            last = sizes.pop() + 1
            sizes[-1] += last
        else:
            last = 1
            sizes[-1] += 1
    if verbose or _HIDING.search(pattern) or len(sizes) != 1:
        return math.prod(counts) * len(pattern)
    return sizes[0]


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
        "error": PatternError,
    },
}
