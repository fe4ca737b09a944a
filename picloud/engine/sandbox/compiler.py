"""From source text to code that may run: parse, policy, ticks, compile; and a cache of the results."""

from __future__ import annotations

import ast
import hashlib
import threading
import warnings
from collections import OrderedDict
from dataclasses import dataclass, field
from types import CodeType
from typing import Final

from picloud.engine.sandbox.facade import offered_names
from picloud.engine.sandbox.instrument import FLAG, MODULE, Ticks, enclose
from picloud.engine.sandbox.limits import (
    MAX_BRACKET_NESTING,
    MAX_SOURCE_BYTES,
    MAX_SOURCE_NESTING,
    MAX_SOURCE_NODES,
)
from picloud.engine.sandbox.modules import MODULES
from picloud.engine.sandbox.policy import Policy
from picloud.errors import ScriptInvalid
from picloud.types import Fault

SDK_MODULE: Final = "picloud.sdk"
SDK_NAMES: Final = frozenset("queue invoke invoke_async retry log kv secrets http Response SDK_VERSION".split())
_MAX_LITERAL_BITS: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class CompiledScript:
    """A script that passed the policy."""

    name: str
    source: str = field(repr=False)
    sha256: str
    filename: str
    """Unique for name and source: by it a traceback's lines are told to be the author's."""
    code: CodeType = field(repr=False)
    methods: frozenset[str] = field(repr=False)
    """Names of the methods it calls."""


def compile_script(source: str, name: str, *, sdk_names: frozenset[str] = SDK_NAMES) -> CompiledScript:
    """Compile a script. Raises: ScriptInvalid with every fault, by position."""
    digest = hash_source(source)
    filename = f"<script {name} {digest[:12]}>"
    try:
        tree = _parse(source, name, filename)
        policy = Policy(
            {**{module: offered_names(facade) for module, facade in MODULES.items()}, SDK_MODULE: sdk_names}
        )
        tree = policy.visit(tree)
        if policy.faults:
            raise ScriptInvalid(name, sorted(set(policy.faults), key=lambda f: (f.line, f.column, f.message)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(enclose(Ticks().visit(tree)), filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _refusal(name, error.lineno or 0, error.msg, error.offset or 0) from None
    except (RecursionError, MemoryError, ValueError):
        raise _refusal(name, 0, "the source is too complex: split it into smaller functions") from None
    return CompiledScript(name, source, digest, filename, _module_code(code), frozenset(policy.methods))


def hash_source(source: str) -> str:
    """Return the hash by which sources are told apart."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


class CompileCache:
    """Compiled scripts by name and source; faults are kept, too. Thread-safe."""

    def __init__(self, max_entries: int = 512) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[tuple[str, str], CompiledScript | ScriptInvalid] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, source: str, name: str) -> CompiledScript:
        """Return the script, compiled now or before. Raises: ScriptInvalid."""
        key = (name, hash_source(source))
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
        if entry is None:
            entry = self._compile(source, name)
            with self._lock:
                self._entries[key] = entry
                while len(self._entries) > self._max_entries:
                    self._entries.popitem(last=False)
        if isinstance(entry, ScriptInvalid):
            raise ScriptInvalid(entry.script, entry.faults)
        return entry

    def _compile(self, source: str, name: str) -> CompiledScript | ScriptInvalid:
        try:
            return compile_script(source, name)
        except ScriptInvalid as invalid:
            return invalid


def _refusal(name: str, line: int, message: str, column: int = 0) -> ScriptInvalid:
    return ScriptInvalid(name, [Fault(line, column, message)])


def _parse(source: str, name: str, filename: str) -> ast.Module:
    """Parse what is small enough to be parsed. Raises: ScriptInvalid, SyntaxError, RecursionError, MemoryError."""
    if not isinstance(source, str):
        raise _refusal(name, 0, "the source must be text")
    if len(source.encode("utf-8", "surrogatepass")) > MAX_SOURCE_BYTES:
        raise _refusal(name, 0, f"the source is longer than {MAX_SOURCE_BYTES} bytes")
    if "\0" in source:
        raise _refusal(name, source[: source.index("\0")].count("\n") + 1, "the source contains a NUL character")
    try:
        source.encode()
    except UnicodeEncodeError:
        raise _refusal(name, 0, "the source contains a lone surrogate, which is not text") from None
    _check_brackets(source, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source, filename)
    _check_size(tree, name)
    return tree


def _check_brackets(source: str, name: str) -> None:
    depth = line = 0
    for line, text in enumerate(source.split("\n"), start=1):
        for character in text:
            if character in "([{":
                depth += 1
                if depth > MAX_BRACKET_NESTING:
                    raise _refusal(name, line, f"brackets are nested deeper than {MAX_BRACKET_NESTING}")
            elif character in ")]}" and depth:
                depth -= 1


def _check_size(tree: ast.Module, name: str) -> None:
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    count = 0
    while stack:
        node, depth = stack.pop()
        count += 1
        line = getattr(node, "lineno", 0)
        if count > MAX_SOURCE_NODES:
            raise _refusal(name, line, f"the script is too large (more than {MAX_SOURCE_NODES} pieces of syntax)")
        if depth > MAX_SOURCE_NESTING:
            raise _refusal(name, line, f"the code is nested deeper than {MAX_SOURCE_NESTING} levels")
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int)
            and node.value.bit_length() > _MAX_LITERAL_BITS
        ):
            raise _refusal(name, line, "the number is too large")
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node))


def _module_code(code: CodeType) -> CodeType:
    """Return the code of the function that `enclose` made of the module's body."""
    (maker,) = [c for c in code.co_consts if isinstance(c, CodeType)]
    (module,) = [c for c in maker.co_consts if isinstance(c, CodeType) and c.co_name == MODULE]
    assert module.co_freevars == (FLAG,)
    return _named_from(module, f"{module.co_qualname}.<locals>.")


def _named_from(code: CodeType, prefix: str) -> CodeType:
    """Take a prefix, which is ours, off the names of all functions in the code: errors say them."""
    parts = tuple([_named_from(c, prefix) if isinstance(c, CodeType) else c for c in code.co_consts])
    return code.replace(co_consts=parts, co_qualname=code.co_qualname.removeprefix(prefix))
