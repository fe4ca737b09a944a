"""Turning values into text: never an address, never more than the limits, never a script's code outside its meter."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from typing import Any

from picloud.engine.sandbox.class_model import SHOWN, ScriptClass, script_defines
from picloud.engine.sandbox.containers import BigRange, Counter, DefaultDict, Deque
from picloud.engine.sandbox.kind_unions import STAND_INS
from picloud.engine.sandbox.limits import (
    CHARGE_FROM,
    MAX_FORMAT_SPEC,
    MAX_FORMAT_WIDTH,
    MAX_WALK_NESTING,
)
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.sizes import (
    ATOMS,
    MAPPINGS,
    SEQUENCES,
    TEXTS,
    VIEWS,
    expect_text,
    expect_written,
    sized_result,
)
from picloud.engine.sandbox.stops import LimitError

ENCODINGS = frozenset(
    "utf-8 utf8 ascii us-ascii latin-1 latin1 iso-8859-1 utf-16 utf-16-le utf-16-be utf-32 utf-8-sig cp1252".split()
)
ENCODING_ERRORS = frozenset("strict ignore replace backslashreplace xmlcharrefreplace surrogatepass".split())

MAX_TRANSLATED = 100_000
"""Entries of a table for str.translate."""
MAX_CODED_WITH_ERRORS = 500_000
"""Characters or bytes."""

_DIGITS = re.compile(r"\d+")
_DATES = frozenset([datetime.datetime, datetime.date, datetime.time])
_QUICK = frozenset([int, float, bool, type(None)])


def said_type(value: object) -> str:
    """What Python calls the type of an argument that does not fit."""
    return "None" if value is None else type(value).__name__


def known_encoding(name: object) -> str:
    if type(name) is not str:
        raise TypeError(f"argument 'encoding' must be str, not {said_type(name)}")
    if name.lower() not in ENCODINGS:
        raise LookupError(f"the encoding is not available (available: {', '.join(sorted(ENCODINGS))})")
    return name


def error_mode(name: object) -> str:
    if _mode_name(name) not in ENCODING_ERRORS:
        raise _no_such_mode()
    return name  # type: ignore[return-value]


def _mode_name(name: object) -> str:
    if type(name) is not str:
        raise TypeError(f"argument 'errors' must be str, not {said_type(name)}")
    return name


def _no_such_mode() -> LookupError:
    return LookupError(f"the error mode is not available (available: {', '.join(sorted(ENCODING_ERRORS))})")


def encode(text: str, encoding: Any = "utf-8", errors: Any = "strict") -> Any:
    return sized_result(_coded(text, text.encode, known_encoding(encoding), _mode_name(errors)))


def decode(data: bytes, encoding: Any = "utf-8", errors: Any = "strict") -> Any:
    return sized_result(_coded(data, data.decode, known_encoding(encoding), _mode_name(errors)))


def _coded(source: Any, apply: Callable[[str, str], Any], encoding: str, errors: str) -> Any:
    """Encode or decode; what handles errors is called for each of them, which takes its time.

    As in Python, a mode that there is not is told only where there is an error.
    """
    known = errors in ENCODING_ERRORS
    if known and (errors == "strict" or len(source) <= MAX_CODED_WITH_ERRORS):
        return apply(encoding, errors)
    try:
        return apply(encoding, "strict")
    except UnicodeError:
        if not known:
            raise _no_such_mode() from None
        raise LimitError(f"a text with errors may be at most {MAX_CODED_WITH_ERRORS} long") from None


def to_text(value: Any = "", encoding: object = None, errors: object = None) -> str:
    """str() for scripts."""
    kind: Any = type(value)
    if encoding is not None or errors is not None:
        return _decoded(value, encoding, errors)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind in _QUICK:
        return str(value)
    if kind in ATOMS:
        return sized_result(str(value))  # type: ignore[no-any-return]
    if type(kind) is ScriptClass:
        if script_defines(kind, "__str__"):
            return _text_from(value.__str__(), "__str__")
        if script_defines(kind, "__repr__"):
            return _text_from(value.__repr__(), "__repr__")
    if isinstance(value, BaseException):
        return _error_text(value)
    return to_repr(value)


def _decoded(value: Any, encoding: object, errors: object) -> str:
    if type(value) is not bytes:
        return str(value, "utf-8")  # says what it needs
    coded = "utf-8" if encoding is None else encoding
    return decode(value, coded, "strict" if errors is None else errors)  # type: ignore[no-any-return]


def _text_from(text: object, method: str) -> str:
    if type(text) is not str:
        raise TypeError(f"{method} returned non-string (type {type(text).__name__})")
    return sized_result(text)  # type: ignore[no-any-return]


def error_arguments(error: BaseException) -> tuple[Any, ...]:
    """Return the `args` that C code knows: a script's class may define others."""
    return _ARGUMENTS(error)  # type: ignore[no-any-return]


_ARGUMENTS = BaseException.__dict__["args"].__get__
_FILE_FIELDS = [OSError.__dict__[name].__get__ for name in ("errno", "strerror", "filename", "filename2")]
_CODEC_FIELDS = {
    kind: [kind.__dict__[name].__get__ for name in ("encoding", "object", "reason", "start", "end")]
    for kind in (UnicodeDecodeError, UnicodeEncodeError)
}


def _has_plain_fields(error: BaseException) -> bool:
    """Tell whether C code may show what it keeps beside `args`. A script sets it, and some of it is not checked."""
    if isinstance(error, OSError):
        return ATOMS.issuperset([type(read(error)) for read in _FILE_FIELDS])
    for kind, fields in _CODEC_FIELDS.items():
        if isinstance(error, kind):
            try:
                encoding_name, data, reason, start, end = [read(error) for read in fields]
            except TypeError:  # not set
                return False
            return type(encoding_name) is type(reason) is str and 0 <= start < end <= len(data)
    return True


def _error_text(error: BaseException) -> str:
    """What str(error) gives, without the C code that would visit nested arguments unchecked."""
    arguments = error_arguments(error)
    if ATOMS.issuperset(map(type, arguments)) and _has_plain_fields(error):
        if len(arguments) > 1:
            expect_written(arguments)
        return sized_result(_host_text(error))  # type: ignore[no-any-return]
    if len(arguments) != 1:
        return to_repr(arguments)
    return to_repr(arguments[0]) if isinstance(error, KeyError) else to_text(arguments[0])


def _host_text(error: BaseException) -> Any:
    """What the C code of an exception says, whatever class of a script it is an instance of."""
    kinds = [kind for kind in type(error).__mro__ if type(kind) is not ScriptClass]
    return next(kind.__dict__["__str__"] for kind in kinds if "__str__" in kind.__dict__)(error)


def _error_repr(error: BaseException) -> str:
    current_meter().check()
    shown = ", ".join([to_repr(argument) for argument in error_arguments(error)])
    return sized_result(f"{type(error).__name__}({shown})")  # type: ignore[no-any-return]


SHOWN.update(
    {"object": lambda value: f"<{type(value).__name__} object>", "__repr__": _error_repr, "__str__": _error_text}
)


def to_repr(value: Any) -> str:
    """repr() for scripts."""
    kind: Any = type(value)
    if kind in TEXTS and len(value) > CHARGE_FROM:
        expect_text(len(value) * 4)
    if kind in ATOMS:
        return sized_result(repr(value))  # type: ignore[no-any-return]
    if kind in _CONTAINERS:
        expect_written(value)
        return sized_result(_container_repr(value, 0))  # type: ignore[no-any-return]
    return _object_repr(value)


def _object_repr(value: Any) -> str:
    kind: Any = type(value)
    if isinstance(value, type):
        return repr(value) if value.__module__ in _NAMED_MODULES else f"<class '{value.__name__}'>"
    if type(kind) is ScriptClass and script_defines(kind, "__repr__"):
        return _text_from(value.__repr__(), "__repr__")
    if isinstance(value, BaseException):
        return _error_repr(value)
    if kind is range or kind is BigRange:
        numbers = value if kind is range else value._numbers
        return sized_result(repr(numbers))  # type: ignore[no-any-return]
    if kind is slice and ATOMS.issuperset((type(value.start), type(value.stop), type(value.step))):
        return sized_result(repr(value))  # type: ignore[no-any-return]
    if type(kind) is type and (represent := getattr(kind, "_sandbox_repr_", None)) is not None:
        return sized_result(represent(value))  # type: ignore[no-any-return]
    name = STAND_INS.get(value) if callable(value) and kind.__hash__ is object.__hash__ else None
    if name is not None:
        return f"<class '{name}'>"
    if type(kind) is ScriptClass:
        return f"<{kind.__name__} object>"
    return f"<function {value.__name__}>" if kind is type(_object_repr) else f"<{kind.__name__}>"


_NAMED_MODULES = frozenset(["datetime", "decimal", "json.decoder", "binascii"])
"""Modules that the repr of a class names: scripts know them."""

_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    Deque: ("deque([", "])"),
    type({}.keys()): ("dict_keys([", "])"),
    type({}.values()): ("dict_values([", "])"),
    type({}.items()): ("dict_items([", "])"),
}
_EMPTY: dict[type, str] = {set: "set()", frozenset: "frozenset()", Counter: "Counter()"}
_CONTAINERS = SEQUENCES | MAPPINGS | VIEWS


def _container_repr(value: Any, depth: int) -> str:
    kind: Any = type(value)
    if kind in ATOMS:
        return repr(value)
    if kind not in _CONTAINERS:
        return to_repr(value)
    if depth > MAX_WALK_NESTING or current_meter().reason is not None:
        current_meter().check()
        return "..."
    if not value and kind in _EMPTY:
        return _EMPTY[kind]
    if kind in MAPPINGS:
        return _mapping_repr(value, kind, depth)
    opening, closing = _BRACKETS[kind]
    body = ", ".join([_container_repr(item, depth + 1) for item in value])
    if kind is tuple and len(value) == 1:
        body += ","
    if kind is Deque and value.maxlen is not None:
        closing = f"], maxlen={value.maxlen})"
    return opening + body + closing


def _mapping_repr(value: Any, kind: type, depth: int) -> str:
    pairs = _by_count(value) if kind is Counter else value.items()
    body = ", ".join([f"{_container_repr(k, depth + 1)}: {_container_repr(v, depth + 1)}" for k, v in pairs])
    if kind is dict:
        return f"{{{body}}}"
    if kind is DefaultDict:
        return f"defaultdict({to_repr(value.default_factory)}, {{{body}}})"
    return f"Counter({{{body}}})"


def _by_count(counter: Counter) -> Iterable[Any]:
    from picloud.engine.sandbox.methods_of_containers import most_common

    try:
        return most_common(counter)  # type: ignore[no-any-return]
    except TypeError:  # counts that cannot be compared
        return counter.items()


def format_field(value: Any, conversion: int = -1, spec: str = "") -> str:
    """Format one field of an f-string. `conversion` is the code of `r`, `s` or `a`, or -1."""
    if conversion == 114:
        value = to_repr(value)
    elif conversion == 97:
        value = sized_result(to_repr(value).encode("ascii", "backslashreplace").decode("ascii"))
    elif conversion == 115:
        value = to_text(value)
    return format_value(value, spec) if spec else to_text(value)


def check_spec(spec: object) -> str:
    """Refuse widths and precisions that make long texts out of short values."""
    if type(spec) is not str:
        raise TypeError(f"format() argument 2 must be str, not {type(spec).__name__}")
    if len(spec) > MAX_FORMAT_SPEC:
        raise LimitError(f"the format spec is longer than {MAX_FORMAT_SPEC}")
    for digits in _DIGITS.findall(spec):
        if len(digits) > 6 or int(digits) > MAX_FORMAT_WIDTH:
            raise LimitError(f"the format width is larger than {MAX_FORMAT_WIDTH}")
    return spec


def format_value(value: Any, spec: object = "") -> str:
    """format() for scripts."""
    spec = check_spec(spec)
    kind: Any = type(value)
    if not spec:
        return to_text(value)
    if kind in _DATES:
        return format_date(value, spec)
    if kind not in ATOMS:
        raise TypeError(f"unsupported format string passed to {kind.__name__}.__format__")
    return sized_result(format(value, spec))  # type: ignore[no-any-return]


def check_date_pattern(pattern: object) -> str:
    """Refuse widths (`%9999999d`), which the C library takes: no check of ours would see them afterwards."""
    if type(pattern) is not str:
        raise TypeError("the format must be a string")
    if len(pattern) > MAX_FORMAT_SPEC:
        raise LimitError(f"the format is longer than {MAX_FORMAT_SPEC}")
    if any(len(digits) > 3 for digits in _DIGITS.findall(pattern)):
        raise LimitError("a width in the format is too large")
    return pattern


def format_date(value: Any, pattern: Any) -> str:
    """strftime for scripts."""
    check_date_pattern(pattern)
    if "Z" in pattern and type(value) is not datetime.date:
        expect_text(pattern.count("Z") * len(value.tzname() or ""))
    return sized_result(value.strftime(pattern))  # type: ignore[no-any-return]


def parse_date(text: Any, pattern: Any) -> datetime.datetime:
    """datetime.strptime for scripts: the library keeps what it makes of a format, under one lock, for every app."""
    for at, given in enumerate((text, pattern), start=1):
        if type(given) is not str:
            raise TypeError(f"strptime() argument {at} must be str, not {type(given).__name__}")
    if len(text) > MAX_FORMAT_SPEC or len(pattern) > MAX_FORMAT_SPEC:
        raise LimitError(f"the text or the format is longer than {MAX_FORMAT_SPEC}")
    return datetime.datetime.strptime(text, pattern)


def make_translation(*tables: Any) -> Any:
    """str.maketrans for scripts."""
    if any(len(table) > MAX_TRANSLATED for table in tables):
        raise LimitError(f"the table has more than {MAX_TRANSLATED} entries")
    return str.maketrans(*tables)


def join_fields(*parts: str) -> str:
    """Make an f-string of many fields."""
    expect_text(sum(map(len, parts)))
    return "".join(parts)
