"""What scripts may use, as a page: made from the tables that the sandbox itself reads, so that it cannot be wrong."""

from __future__ import annotations

from collections.abc import Iterator

from picloud.engine.sandbox import limits
from picloud.engine.sandbox.attributes import ATTRIBUTES, CLASS_ATTRIBUTES, FUNCTION_ATTRIBUTES
from picloud.engine.sandbox.class_model import ALLOWED_METHODS, BUILTIN_EXCEPTIONS
from picloud.engine.sandbox.compiler import SDK_NAMES, compile_script
from picloud.engine.sandbox.facade import offered_names
from picloud.engine.sandbox.modules import MODULES
from picloud.engine.sandbox.namespace import BUILTINS, TYPES
from picloud.engine.sandbox.text import ENCODINGS
from picloud.errors import ScriptInvalid

SYNTAX: tuple[tuple[str, str], ...] = (
    ("functions, all kinds of parameters", "def f(a, /, b=1, *args, c, **more):\n    return a"),
    ("lambda", "f = lambda a, b=1: a + b"),
    (
        "nested functions and nonlocal",
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n    return g",
    ),
    ("global", "n = 0\ndef f():\n    global n\n    n = 1"),
    ("decorators", "def twice(f):\n    return f\n\n@twice\ndef g():\n    pass"),
    ("generators", "def f():\n    x = yield 1\n    yield from [2, 3]"),
    ("classes of your own, also with bases", "class A:\n    pass\n\nclass B(A):\n    pass"),
    ("exceptions of your own", "class Missing(ValueError):\n    pass"),
    ("dataclasses", "from dataclasses import dataclass\n\n@dataclass\nclass Point:\n    x: int = 0"),
    ("properties", "class A:\n    @property\n    def name(self):\n        return 'a'"),
    ("super()", "class A(ValueError):\n    def __init__(self, code):\n        super().__init__(code)"),
    ("if, while, for, else, break, continue", "for n in range(9):\n    if n > 3:\n        break\nelse:\n    pass"),
    ("try, except, else, finally, raise from", "try:\n    pass\nexcept ValueError as e:\n    raise KeyError(1) from e"),
    ("comprehensions", "a = [n for n in range(9) if n]\nb = {n: 1 for n in a}\nc = {n for n in a}"),
    (
        "match",
        "match [1, {'a': 2}]:\n    case [int(n), {'a': x, **rest}] if n:\n        pass\n    case _:\n        pass",
    ),
    ("unpacking", "a, (b, *c) = 1, (2, 3, 4)\nd = [*c, *[5]]"),
    ("slices, read and written", "a = [1, 2, 3]\na[1:2] = a[::-1]"),
    ("augmented assignment, also of items and attributes", "d = {'n': 1}\nd['n'] += 1"),
    ("walrus", "if (n := 5) > 3:\n    pass"),
    ("f-strings", "n = 5\ntext = f'{n:>{n}} {n!r} {n=}'"),
    ("annotations, which are ignored", "n: int = 5\ndef f(a: 'list[int]') -> None:\n    pass"),
    ("assert, del, pass", "n = [1]\nassert n\ndel n[0]"),
    ("imports of the modules below", "import json\nfrom datetime import datetime, timedelta"),
    ("async", "async def f():\n    pass"),
    ("except*", "try:\n    pass\nexcept* ValueError:\n    pass"),
    ("with", "with open('x') as f:\n    pass"),
    ("the @ operator", "c = 1 @ 2"),
    ("metaclasses and class keywords", "class A(metaclass=type):\n    pass"),
    ("names that begin with _", "_x = 1"),
    ("attributes that begin with _", "n = (1).__class__"),
    ("star imports", "from math import *"),
    ("other modules", "import os"),
    ("eval, exec, open, globals and the like", "eval('1')"),
    ("leaving a finally", "def f():\n    try:\n        pass\n    finally:\n        return 1"),
    ("slices in augmented assignment", "a = [1]\na[0:1] += [2]"),
    ("class patterns of other classes", "match 1:\n    case complex():\n        pass"),
    ("dotted names in patterns", "import math\nmatch 1:\n    case math.pi:\n        pass"),
    ("yield in a lambda", "f = lambda: (yield)"),
)
"""What people ask about, each with an example; whether it is allowed is found by compiling it."""


def render_reference() -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# What scripts may use"
    yield ""
    yield "Made from the sandbox's own tables by `picloud.engine.sandbox.reference`; do not edit it."
    allowed, refused = _try_syntax()
    yield from ("", "## Syntax", "")
    yield from (f"- {title}" for title in allowed)
    yield from ("", "Not available, with what the check says:", "")
    yield from (f"- {title}: {message}" for title, message in refused)
    yield from ("", f"Special methods of classes: {_code(sorted(ALLOWED_METHODS))}.")
    yield from ("", "## Builtins", "")
    exceptions = {kind.__name__ for kind in BUILTIN_EXCEPTIONS} | {"LimitError"}
    names = {name for name in BUILTINS if not name.startswith("_")}
    yield _code(sorted(names - exceptions, key=str.lower))
    yield from ("", "Exceptions: " + _code(sorted(exceptions)))
    yield from ("", f"Of picloud, without an import or by `from picloud.sdk import …`: {_code(sorted(SDK_NAMES))}")
    yield from ("", "## Modules", "", "| module | names |", "|---|---|")
    for module, facade in sorted(MODULES.items()):
        yield f"| `{module}` | {_code(sorted(offered_names(facade)))} |"
    yield from ("", "## Attributes and methods", "", "| type | names |", "|---|---|")
    yield from _attribute_rows()
    yield from ("", "## Limits", "", "Past one of these, an operation raises `LimitError`:", "")
    yield from _limits()


def _try_syntax() -> tuple[list[str], list[tuple[str, str]]]:
    allowed, refused = [], []
    for title, example in SYNTAX:
        source = example + "\n\ndef handle(event, ctx):\n    pass\n"
        try:
            compile_script(source, "example")
        except ScriptInvalid as invalid:
            refused.append((title, invalid.faults[0].message))
        else:
            allowed.append(title)
    return allowed, refused


def _attribute_rows() -> Iterator[str]:
    classes = {_name(kind): set(names) for kind, names in CLASS_ATTRIBUTES.items()}
    for function, names in FUNCTION_ATTRIBUTES.items():
        kind = next((name for name, (made, _) in TYPES.items() if made is function), "")
        classes.setdefault(kind, set()).update(name for name in names if not name.startswith("_"))
    rows = {_name(kind): {name for name in names if not name.startswith("_")} for kind, names in ATTRIBUTES.items()}
    for kind in sorted({*rows, *classes} - {""}, key=str.lower):
        own = rows.get(kind, set()) | classes.get(kind, set())
        if own:
            yield f"| `{kind}` | {_code(sorted(own))} |"


def _name(kind: type) -> str:
    """Return the name by which a script knows a type."""
    return kind.__name__.rpartition(".")[2].strip("_")


def _limits() -> Iterator[str]:
    defaults = limits.Limits()
    yield f"- a text: {limits.MAX_TEXT // limits.MIB} Mi characters; a container: {limits.MAX_ITEMS:,} items"
    yield f"- an integer: {limits.MAX_INT_BITS:,} bits; a number read from text: {limits.MAX_NUMBER_TEXT:,} characters"
    walk = f"{limits.MAX_WALK_NODES:,} values, {limits.MAX_WALK_NESTING} levels"
    yield f"- data that is compared, hashed, printed or encoded: {walk}"
    yield f"- a tuple that is a key: {limits.MAX_KEY_NODES:,} values; keys of one hash: few of them in one table"
    yield f"- an integer that a Decimal is made of or meets: {limits.MAX_DECIMAL_INT_BITS:,} bits"
    yield f"- a format width: {limits.MAX_FORMAT_WIDTH:,}; iterators in iterators: {limits.MAX_ITERATOR_NESTING}"
    yield f"- generators that are there at once: {limits.MAX_GENERATORS:,}"
    source = f"{limits.MAX_SOURCE_NODES:,} nodes, {limits.MAX_SOURCE_NESTING} levels"
    yield f"- a source: {limits.MAX_SOURCE_BYTES // limits.KIB} KiB, {source}"
    yield from ("", "Past one of these, the execution is stopped; nothing in the script can catch that (defaults):", "")
    yield f"- wall clock: {defaults.wall:g} s; memory of large results: {limits.mib_text(defaults.memory_bytes)}"
    log = f"{defaults.log_lines:,} lines, {defaults.log_bytes // limits.KIB} KiB"
    yield f"- log: {log}; result: {limits.mib_text(defaults.result_bytes)}"
    yield from ("", "Encodings: " + _code(sorted(ENCODINGS)))


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
