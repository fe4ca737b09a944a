"""urllib.parse: texts of bounded length, since the library keeps some of them, for every app."""

from __future__ import annotations

import sys
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from picloud.engine.sandbox.class_model import ScriptClass
from picloud.engine.sandbox.containers import Deque
from picloud.engine.sandbox.records import Record
from picloud.engine.sandbox.sizes import (
    MAPPINGS,
    SEQUENCES,
    SIZED,
    TEXTS,
    bounded,
    count_marks,
    expect_text,
    sized_result,
    walk,
)
from picloud.engine.sandbox.stops import LimitError
from picloud.engine.sandbox.text import error_mode, known_encoding, to_text

MAX_SAFE: Final = 256
"""Characters that quote() leaves alone."""
MAX_URL: Final = 16 * 1024
MAX_QUOTES: Final = 100_000
"""Escapes in a text that is unquoted."""
MAX_FIELDS: Final = 1000
"""Of a query."""


def quote(string: Any, safe: str = "/", encoding: Any = None, errors: Any = None) -> str:
    """urllib.parse.quote."""
    _expect_quoted(string, errors)
    return sized_result(  # type: ignore[no-any-return]
        urllib.parse.quote(string, _short(safe), _known(encoding, known_encoding), _known(errors, error_mode))
    )


def quote_plus(string: Any, safe: str = "", encoding: Any = None, errors: Any = None) -> str:
    """urllib.parse.quote_plus."""
    _expect_quoted(string, errors)
    return sized_result(  # type: ignore[no-any-return]
        urllib.parse.quote_plus(string, _short(safe), _known(encoding, known_encoding), _known(errors, error_mode))
    )


def _expect_quoted(text: Any, errors: Any) -> None:
    """Check the result before it is made: what stands for an error may be ten characters."""
    expect_text((3 if errors is None else 30) * len(text))


def _known(name: Any, check: Callable[[object], str]) -> str | None:
    return None if name is None else check(name)


def _short(safe: Any) -> Any:
    """Guard the characters that are not quoted: the library keeps them, for every app."""
    if type(safe) not in TEXTS:
        raise TypeError(f"safe must be str or bytes, not {type(safe).__name__}")
    if len(safe) > MAX_SAFE:
        raise LimitError(f"safe is longer than {MAX_SAFE}")
    return safe


def _expect_few_quotes(text: Any) -> None:
    """The library splits at each of them at once."""
    if type(text) in TEXTS and len(text) > MAX_QUOTES and count_marks(text, "%") > MAX_QUOTES:
        raise LimitError(f"the text has more than {MAX_QUOTES} escapes")


def unquote(string: str, encoding: str = "utf-8", errors: str = "replace") -> str:
    """urllib.parse.unquote."""
    _expect_few_quotes(string)
    return sized_result(  # type: ignore[no-any-return]
        urllib.parse.unquote(string, known_encoding(encoding), error_mode(errors))
    )


def unquote_plus(string: str, encoding: str = "utf-8", errors: str = "replace") -> str:
    """urllib.parse.unquote_plus."""
    _expect_few_quotes(string)
    return sized_result(  # type: ignore[no-any-return]
        urllib.parse.unquote_plus(string, known_encoding(encoding), error_mode(errors))
    )


def url_encode(query: Any, doseq: bool = False, safe: str = "", *, quote_via: Any = quote_plus) -> str:
    """urllib.parse.urlencode."""
    pairs: Any = query
    if type(query) in MAPPINGS:
        pairs = list(query.items())
    elif type(query) in SIZED and not query:
        return ""
    elif type(query) not in (list, tuple, Deque) or type(query[0]) is not tuple:
        raise TypeError("not a valid non-string sequence or mapping object")
    if quote_via not in (quote, quote_plus):
        raise TypeError("quote_via must be quote or quote_plus of urllib.parse")
    shown = [
        tuple([_parameter(part, doseq and at == 1) for at, part in enumerate(bounded(pair, 2))])
        for pair in bounded(pairs)
    ]
    via = urllib.parse.quote if quote_via is quote else urllib.parse.quote_plus
    text = urllib.parse.urlencode(walk(shown), bool(doseq), _short(safe), quote_via=via)
    return sized_result(text)  # type: ignore[no-any-return]


def _parameter(value: Any, doseq: bool) -> Any:
    """Return a part of a query as text that our own str() made."""
    if doseq and (type(value) in SEQUENCES or type(value) in MAPPINGS):
        return [_parameter(item, False) for item in bounded(value)]
    return value if type(value) in TEXTS else to_text(value)


def parse_query(
    qs: str, keep_blank_values: bool = False, strict_parsing: bool = False, *, separator: str = "&"
) -> dict[str, list[str]]:
    """urllib.parse.parse_qs."""
    found: dict[str, list[str]] = {}
    for name, value in parse_query_list(qs, keep_blank_values, strict_parsing, separator=separator):
        found.setdefault(name, []).append(value)
    return found


def parse_query_list(
    qs: str, keep_blank_values: bool = False, strict_parsing: bool = False, *, separator: str = "&"
) -> list[tuple[str, str]]:
    """urllib.parse.parse_qsl."""
    if type(separator) is not str or not 0 < len(separator) <= MAX_SAFE:
        raise ValueError("Separator must be of type string or bytes.")
    kind: Any = type(qs)
    if type(kind) is ScriptClass:
        if sys.version_info >= (3, 13):
            raise TypeError(f"memoryview: a bytes-like object is required, not '{kind.__name__}'")
        raise AttributeError(f"'{kind.__name__}' object has no attribute 'decode'")
    _expect_few_quotes(qs)
    return urllib.parse.parse_qsl(
        qs, bool(keep_blank_values), bool(strict_parsing), max_num_fields=MAX_FIELDS, separator=separator
    )


# Whole URLs.


def _expect_url(*texts: Any) -> None:
    for text in texts:
        if type(text) is not str:
            raise TypeError("the URL must be text (str)")
        if len(text) > MAX_URL:
            raise LimitError(f"the URL is longer than {MAX_URL} characters")


class _SplitUrl(Record):
    """The parts of a URL, and those of its network location."""

    __slots__ = ("_result",)
    _sandbox_attrs_ = frozenset({"username", "password", "hostname", "port", "geturl"})

    def __init__(self, result: Any) -> None:
        super().__init__(tuple(result))
        self._result = result

    @property
    def username(self) -> str | None:
        return self._result.username  # type: ignore[no-any-return]

    @property
    def password(self) -> str | None:
        return self._result.password  # type: ignore[no-any-return]

    @property
    def hostname(self) -> str | None:
        return self._result.hostname  # type: ignore[no-any-return]

    @property
    def port(self) -> int | None:
        return self._result.port  # type: ignore[no-any-return]

    def geturl(self) -> str:
        return self._result.geturl()  # type: ignore[no-any-return]


class SplitResult(_SplitUrl):
    """What urlsplit() gives."""

    __slots__ = ()
    _fields_ = ("scheme", "netloc", "path", "query", "fragment")


class ParseResult(_SplitUrl):
    """What urlparse() gives."""

    __slots__ = ()
    _fields_ = ("scheme", "netloc", "path", "params", "query", "fragment")


class DefragResult(Record):
    """What urldefrag() gives."""

    __slots__ = ()
    _fields_ = ("url", "fragment")


def split_url(url: str, scheme: str = "", allow_fragments: bool = True) -> SplitResult:
    """urllib.parse.urlsplit."""
    _expect_url(url, scheme)
    return SplitResult(urllib.parse.urlsplit(url, scheme, bool(allow_fragments)))


def parse_url(url: str, scheme: str = "", allow_fragments: bool = True) -> ParseResult:
    """urllib.parse.urlparse."""
    _expect_url(url, scheme)
    return ParseResult(urllib.parse.urlparse(url, scheme, bool(allow_fragments)))


def join_urls(base: str, url: str, allow_fragments: bool = True) -> str:
    """urllib.parse.urljoin."""
    _expect_url(base, url)
    return urllib.parse.urljoin(base, url, bool(allow_fragments))


def without_fragment(url: str) -> DefragResult:
    """urllib.parse.urldefrag."""
    _expect_url(url)
    return DefragResult(tuple(urllib.parse.urldefrag(url)))


def _parts(parts: Any, count: int) -> Iterator[str]:
    taken = list(bounded(parts, count))
    _expect_url(*taken)
    if len(taken) != count:
        raise ValueError(f"{count} parts are needed, not {len(taken)}")
    return iter(taken)


def unsplit_url(components: Any) -> str:
    """urllib.parse.urlunsplit."""
    return urllib.parse.urlunsplit(tuple(_parts(components, 5)))


def unparse_url(components: Any) -> str:
    """urllib.parse.urlunparse."""
    return urllib.parse.urlunparse(tuple(_parts(components, 6)))


URLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "urllib.parse": {
        "quote": quote,
        "quote_plus": quote_plus,
        "unquote": unquote,
        "unquote_plus": unquote_plus,
        "urlencode": url_encode,
        "parse_qs": parse_query,
        "parse_qsl": parse_query_list,
        "urlparse": parse_url,
        "urlsplit": split_url,
        "urljoin": join_urls,
        "urldefrag": without_fragment,
        "urlunsplit": unsplit_url,
        "urlunparse": unparse_url,
    },
}
