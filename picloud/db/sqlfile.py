"""Named SQL: `load("messages").claim_messages` is the statement below `-- name: claim_messages` in sql/messages.sql."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any, LiteralString, cast

_HEADER = re.compile(r"^--[ \t]*name:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_DOCUMENTATION = re.compile(r"\s*\n((?:[ \t]*--[^\n]*(?:\n|$))*)")

# What a comment or a semicolon can hide in: quoted text with '' or \-escapes, identifiers, dollar quotes.
_TOKEN = re.compile(
    r"""(?P<quoted> \b[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*"
        | (?<![\w$])\$(?P<tag>[A-Za-z_]\w*)?\$.*?\$(?(tag)(?P=tag)|)\$ )
      | (?P<line_comment> --[^\n]* )
      | (?P<block_comment> /\* )
      | (?P<semicolon> ; )""",
    re.VERBOSE | re.DOTALL,
)
_BLOCK_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Statements:
    """The statements of one file as attributes; `documentation` holds the comment below each name."""

    file: str
    texts: MappingProxyType[str, str]
    documentation: MappingProxyType[str, str]

    def __getattr__(self, name: str) -> LiteralString:
        try:
            statement: LiteralString = cast(Any, self.texts[name])  # as trusted as the source: it ships with us
        except KeyError:
            close = difflib.get_close_matches(name, self.texts, n=1)
            hint = f" (did you mean '{close[0]}'?)" if close else ""
            raise AttributeError(f"{self.file} has no statement '{name}'{hint}") from None
        return statement


@functools.cache
def load(name: str) -> Statements:
    """Return the statements of `picloud/db/sql/<name>.sql`. Raises: ValueError for a malformed file."""
    file = f"{name}.sql"
    return parse(resources.files("picloud.db.sql").joinpath(file).read_text("utf-8"), file)


def parse(source: str, file: str) -> Statements:
    """Return the statements of a file's text. Raises: ValueError naming the file and the fault."""
    texts: dict[str, str] = {}
    documentation: dict[str, str] = {}
    for name, body in _split_sections(source, file):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{file}: '{name}' is not a name for a statement (lower case, digits and _)")
        if name in texts:
            raise ValueError(f"{file}: two statements are named '{name}'")
        comment = _DOCUMENTATION.match(body)
        documentation[name] = _strip_dashes(comment[1]) if comment else ""
        texts[name] = _single_command(body, f"{file}: '{name}'")
    return Statements(file, MappingProxyType(texts), MappingProxyType(documentation))


def strip_comments(sql: str) -> str:
    """Return `sql` without comments and blank lines: psycopg would read a `%` in them as a parameter."""
    kept = "".join(text for text, _ in _code(sql))
    return "\n".join(line.rstrip() for line in kept.splitlines() if line.strip())


def _split_sections(source: str, file: str) -> Iterator[tuple[str, str]]:
    headers = list(_HEADER.finditer(source))
    preamble = source[: headers[0].start()] if headers else source
    if strip_comments(preamble):
        raise ValueError(f"{file}: SQL before the first '-- name:' header")
    ends = [header.start() for header in headers[1:]] + [len(source)]
    for header, end in zip(headers, ends, strict=True):
        yield header[1], source[header.end() : end]


def _single_command(body: str, where: str) -> str:
    """Return the command without comments and final semicolon; the extended protocol takes one at a time."""
    pieces = list(_code(body))
    last_semicolon = next((i for i, (_, is_semicolon) in enumerate(pieces) if is_semicolon), len(pieces))
    if strip_comments("".join(text for text, _ in pieces[last_semicolon + 1 :])):
        raise ValueError(f"{where} holds more than one command")
    text = strip_comments("".join(text for text, _ in pieces[:last_semicolon]))
    if not text:
        raise ValueError(f"{where} is empty")
    return text


def _code(sql: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of `sql` that are not comments, and whether each is a semicolon between commands."""
    position = 0
    while token := _TOKEN.search(sql, position):
        yield sql[position : token.start()], False
        position = token.end()
        if token["block_comment"]:
            position = _block_end(sql, token.end())
            yield " ", False
        elif not token["line_comment"]:
            yield token[0], token["semicolon"] is not None
    yield sql[position:], False


def _block_end(sql: str, position: int) -> int:
    """Return where the block comment ends that was opened before `position`: they nest."""
    depth = 1
    while depth:
        edge = _BLOCK_EDGE.search(sql, position)
        if edge is None:
            return len(sql)
        depth += 1 if edge[0] == "/*" else -1
        position = edge.end()
    return position


def _strip_dashes(comment: str) -> str:
    return "\n".join(line.strip().removeprefix("--").strip() for line in comment.splitlines())
