"""Routes of an app: patterns of paths, and which of them a path belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar, get_args

from picloud.errors import InvalidInput

T = TypeVar("T")

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
METHODS: tuple[str, ...] = get_args(Method)
MAX_PATH_CHARS = 500
_LITERAL = re.compile(r"[A-Za-z0-9._~!$&'()+,;=@-]+\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A route's path: literal segments, `:name` for any one segment, `*name` at the end for all the rest."""

    path: str
    segments: tuple[str, ...]

    @property
    def key(self) -> str:
        """The path with its parameters unnamed: two patterns of one key match the same paths."""
        return "/" + "/".join(segment[0] if segment[0] in ":*" else segment for segment in self.segments)


def parse_pattern(path: str) -> Pattern:
    """Return the pattern in `path`. Raises: InvalidInput that says what is wrong."""
    if not path.startswith("/") or len(path) > MAX_PATH_CHARS:
        raise InvalidInput(f"route: the path must begin with '/' and have {MAX_PATH_CHARS} characters at most")
    segments = tuple(path[1:].split("/")) if path != "/" else ()
    names: set[str] = set()
    for at, segment in enumerate(segments):
        if segment[:1] not in (":", "*"):
            if not _LITERAL.match(segment):
                raise InvalidInput(f"route: segment {segment!r} of {path!r} is empty or has a character no path has")
            continue
        if not _NAME.match(segment[1:]) or segment[1:] in names:
            raise InvalidInput(f"route: {segment!r} of {path!r} needs a name of its own, of letters, digits and '_'")
        if segment[0] == "*" and at != len(segments) - 1:
            raise InvalidInput(f"route: {segment!r} must be the last segment of {path!r}")
        names.add(segment[1:])
    return Pattern(path, segments)


@dataclass(frozen=True, slots=True)
class Match(Generic[T]):
    """The routes of one path that one pattern stands for: by method, with the parameters of each."""

    routes: Mapping[str, tuple[T, Pattern]]
    values: tuple[str, ...]

    def params(self, pattern: Pattern) -> dict[str, str]:
        """Return the parameters by the names that a pattern gives them."""
        names = [segment[1:] for segment in pattern.segments if segment[0] in ":*"]
        return dict(zip(names, self.values, strict=True))


@dataclass(slots=True)
class _Node(Generic[T]):
    literal: dict[str, _Node[T]] = field(default_factory=dict)
    param: _Node[T] | None = None
    rest: dict[str, tuple[T, Pattern]] = field(default_factory=dict)
    here: dict[str, tuple[T, Pattern]] = field(default_factory=dict)


class RouteTable(Generic[T]):
    """The routes of one app. Literal segments come before `:param`, and these before `*rest`."""

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, method: str, pattern: Pattern, target: T) -> None:
        """Bind a method and pattern; the last one of the same key stays."""
        node = self._root
        for segment in pattern.segments:
            if segment[0] == "*":
                node.rest[method] = (target, pattern)
                return
            if segment[0] == ":":
                node.param = node.param or _Node()
                node = node.param
            else:
                node = node.literal.setdefault(segment, _Node())
        node.here[method] = (target, pattern)

    def find(self, path: str) -> list[Match[T]]:
        """Return what a path matches, the most exact first."""
        return self.find_segments(path[1:].split("/") if path != "/" else [])

    def find_segments(self, segments: Sequence[str]) -> list[Match[T]]:
        """Return the same for a path that is split already: a segment may hold a slash."""
        return list(self._walk(self._root, segments, 0, ()))

    def _walk(self, node: _Node[T], segments: Sequence[str], at: int, values: tuple[str, ...]) -> Iterator[Match[T]]:
        if at == len(segments):
            if node.here:
                yield Match(node.here, values)
            return
        segment = segments[at]
        if segment in node.literal:
            yield from self._walk(node.literal[segment], segments, at + 1, values)
        if node.param is not None and segment:
            yield from self._walk(node.param, segments, at + 1, (*values, segment))
        if node.rest:
            yield Match(node.rest, (*values, "/".join(segments[at:])))
