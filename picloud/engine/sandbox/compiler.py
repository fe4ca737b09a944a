"""From source text to code that may run: parse, policy, ticks, compile; and a cache of the results."""

from __future__ import annotations

import ast
import hashlib
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from types import CodeType
from typing import Final

from picloud.engine.sandbox.binding import Binding
from picloud.engine.sandbox.facade import offered_names
from picloud.engine.sandbox.instrument import FLAG, MODULE, Ticks, enclose
from picloud.engine.sandbox.limits import (
    MAX_BRACKET_NESTING,
    MAX_COMPILED_NODES,
    MAX_SOURCE_BYTES,
    MAX_SOURCE_NESTING,
    MAX_SOURCE_NODES,
)
from picloud.engine.sandbox.modules import MODULES
from picloud.engine.sandbox.namespace import BUILTINS, find_constant
from picloud.engine.sandbox.policy import Policy
from picloud.engine.sandbox.syntax_tree import children
from picloud.errors import ScriptInvalid
from picloud.types import Fault

SDK_MODULE: Final = "picloud.sdk"
SDK_NAMES: Final = frozenset(
    "queue invoke invoke_async retry log kv secrets http Response SDK_VERSION EmailEvent".split()
)
_WITH_USE: Final = frozenset([ast.Name, ast.Attribute, ast.Subscript, ast.Starred, ast.List, ast.Tuple])
_one_at_a_time: Final = threading.Lock()
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
    mentions: frozenset[str] = field(default=frozenset(), repr=False)
    """Names of the SDK that its code may look up."""


def compile_script(source: str, name: str, *, sdk_names: frozenset[str] = SDK_NAMES) -> CompiledScript:
    """Compile a script. Raises: ScriptInvalid with every fault, by position.

    One at a time: CPython keeps the depth of a tree that it converts, and the filters of warnings, per process.
    """
    with _one_at_a_time:
        return _compile_script(source, name, sdk_names)


def _compile_script(source: str, name: str, sdk_names: frozenset[str]) -> CompiledScript:
    digest = hash_source(source)
    filename = f"<script {name} {digest[:12]}>"
    try:
        nodes = _parse(source, name, filename)
        importable = {**{module: offered_names(facade) for module, facade in MODULES.items()}, SDK_MODULE: sdk_names}
        policy = Policy(nodes, importable, frozenset(BUILTINS) | sdk_names)
        tree = policy.visit(nodes[0])
        if policy.faults:
            raise ScriptInvalid(name, sorted(set(policy.faults), key=lambda f: (f.line, f.column, f.message)))
        binding = Binding(partial(find_constant, policy.scopes.reader.is_builtin))
        code = binding.apply(_compile(enclose(Ticks(binding).visit(tree)), filename))
    except SyntaxError as error:
        raise _refusal(name, error.lineno or 0, error.msg, error.offset or 0) from None
    except (RecursionError, MemoryError, ValueError):
        raise _refusal(name, 0, "the source is too complex: split it into smaller functions") from None
    module = _module_code(code)
    return CompiledScript(name, source, digest, filename, module, sdk_names.intersection(_names_of(module)))


def _compile(tree: ast.Module, filename: str) -> CodeType:
    with warnings.catch_warnings():
        # a text that stands for a guard is called
        warnings.simplefilter("ignore")
        return compile(tree, filename, "exec", dont_inherit=True)


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


def _parse(source: str, name: str, filename: str) -> list[ast.AST]:
    """Return all nodes of a source that is small enough to be parsed, the module first.

    Raises: ScriptInvalid, SyntaxError, RecursionError, MemoryError.
    """
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
    nodes = _nodes_within_limits(tree, name)
    if any(type(node) is ast.Try and node.finalbody for node in nodes):
        _check_finally(tree, name)
    return nodes


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


def _nodes_within_limits(tree: ast.Module, name: str) -> list[ast.AST]:
    found: list[ast.AST] = []
    level: list[ast.AST] = [tree]
    count = depth = 0
    while level:
        # how a name is used is a node, too
        count += len(level) + sum([type(node) in _WITH_USE for node in level])
        line = max([getattr(node, "lineno", 0) for node in level])
        if count > MAX_SOURCE_NODES:
            raise _refusal(name, line, f"the script is too large (more than {MAX_SOURCE_NODES} pieces of syntax)")
        if depth > MAX_SOURCE_NESTING:
            raise _refusal(name, line, f"the code is nested deeper than {MAX_SOURCE_NESTING} levels")
        found += level
        level = [child for node in level for child in children(node)]
        depth += 1
    for node in found:
        if type(node) is ast.Constant and type(node.value) is int and node.value.bit_length() > _MAX_LITERAL_BITS:
            raise _refusal(name, node.lineno, "the number is too large")
    return found


def _check_finally(tree: ast.Module, name: str) -> None:
    """Refuse finally blocks that would be compiled too often: each is copied for every way out of its try."""
    if _compiled_size(tree) > MAX_COMPILED_NODES:
        raise _refusal(name, 0, "the finally blocks are too large together: move their code into functions")


def _compiled_size(node: ast.AST) -> int:
    """Return the number of pieces of syntax that the compiler writes out. Recursive: the nesting was checked."""
    if not isinstance(node, ast.Try):
        return 1 + sum(map(_compiled_size, ast.iter_child_nodes(node)))
    guarded = [*node.body, *node.handlers, *node.orelse]
    jumps = sum(isinstance(part, ast.Return | ast.Break | ast.Continue) for each in guarded for part in ast.walk(each))
    # once for the end of the try, once for errors, and once for each jump
    return 1 + sum(map(_compiled_size, guarded)) + (2 + jumps) * sum(map(_compiled_size, node.finalbody))


def _module_code(code: CodeType) -> CodeType:
    """Return the code of the function that `enclose` made of the module's body."""
    (maker,) = [c for c in code.co_consts if isinstance(c, CodeType)]
    (module,) = [c for c in maker.co_consts if isinstance(c, CodeType) and c.co_name == MODULE]
    assert module.co_freevars == (FLAG,)
    return _named_from(module, f"{module.co_qualname}.<locals>.")


def _names_of(code: CodeType) -> Iterator[str]:
    """Yield all names of globals and attributes in the code."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_of(inner)


def _named_from(code: CodeType, prefix: str) -> CodeType:
    """Take a prefix, which is ours, off the names of all functions in the code: errors say them."""
    parts = tuple([_named_from(c, prefix) if isinstance(c, CodeType) else c for c in code.co_consts])
    return code.replace(co_consts=parts, co_qualname=code.co_qualname.removeprefix(prefix))
