"""Small pieces of syntax tree that the policy puts in place of what a script says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final, TypeVar

N = TypeVar("N", bound=ast.AST)

LEAVES: Final = frozenset([ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, *ast.operator.__subclasses__()])
"""Nodes with nothing below but how a name is used."""


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def constant(value: Any) -> ast.Constant:
    return ast.Constant(value)


def call(name: str, *args: ast.expr) -> ast.Call:
    """`name(args…)`."""
    return ast.Call(load(name), list(args), [])


def is_type(value: ast.expr, name: str) -> ast.Compare:
    """`type(value) is name`, on the real type."""
    return ast.Compare(call("_type_", value), [ast.Is()], [load(name)])


def placed(new: N, old: ast.AST) -> N:
    """Give a new piece the place of what it stands for; what is in it gets its place from the last pass (`Ticks`)."""
    if "lineno" not in new.__dict__ and new._attributes and "lineno" in old.__dict__:
        new.lineno, new.col_offset = old.lineno, old.col_offset  # type: ignore[attr-defined]
        new.end_lineno, new.end_col_offset = old.end_lineno, old.end_col_offset  # type: ignore[attr-defined]
    return new


def place_all(new: N, old: ast.AST) -> N:
    """Give a new piece, and all in it down to what has a place, the place of what it stands for."""
    stack: list[ast.AST] = [new]
    while stack:
        node = stack.pop()
        if "lineno" not in node.__dict__:
            placed(node, old)
            stack += children(node)
    return new


class _Fields(dict[type, tuple[str, ...]]):
    """By type of node: the fields that can hold nodes, but for how a name is used (`ast.Load`)."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = fields = tuple([name for name in kind._fields if name not in _PLAIN_FIELDS])
        return fields


_PLAIN_FIELDS: Final = frozenset("ctx id attr arg type_comment conversion module level is_async simple".split())
_fields: Final = _Fields()


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right below, but for how a name is used: `ast.iter_child_nodes`, much faster."""
    found: list[ast.AST] = []
    if type(node) not in LEAVES:
        for name in _fields[type(node)]:
            value = getattr(node, name, None)
            if type(value) is list:
                if value:
                    found += _nodes(value)
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def _nodes(values: list[Any]) -> list[ast.AST]:
    return [value for value in values if isinstance(value, ast.AST)]


class Visitor(ast.NodeTransformer):
    """`ast.NodeTransformer`, much faster: no look at how a name is used, and every node has one answer."""

    def __init__(self) -> None:
        self._visitors: dict[type, Any] = {}

    def visit(self, node: ast.AST) -> Any:
        kind = type(node)
        return (self._visitors.get(kind) or self._find_visitor(kind))(node)

    def _find_visitor(self, kind: type[ast.AST]) -> Any:
        visitor = self._visitors[kind] = getattr(self, f"visit_{kind.__name__}", self.generic_visit)
        return visitor

    def visit_below(self, node: N) -> N:
        """Visit what is right below and put the answers in its place."""
        for name in _fields[type(node)]:
            value = getattr(node, name, None)
            if type(value) is list:
                if value:
                    value[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
            elif isinstance(value, ast.AST):
                made = self.visit(value)
                if made is not value:
                    setattr(node, name, made)
        return node


def star_shape(target: ast.expr) -> Any:
    """Return the shape (see iteration.Shape) of a target of unpacking, None where it has no star.

    Raises: ValueError for a target behind a star that is unpacked again.
    """
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    parts = []
    star = None
    for at, part in enumerate(target.elts):
        if isinstance(part, ast.Starred):
            star = at
            if isinstance(part.value, ast.Tuple | ast.List):
                raise ValueError("unpacking behind a star is not available")
        elif (inner := star_shape(part)) is not None:
            parts.append((at if star is None else at - len(target.elts), inner))
    if star is None and not parts:
        return None
    return (len(target.elts) if star is None else -1, tuple(parts))


def is_simple(node: ast.expr) -> bool:
    """Whether a node may be evaluated twice."""
    return isinstance(node, ast.Name | ast.Constant)


def copied(node: ast.expr) -> ast.expr:
    """Return a copy of a simple node."""
    return load(node.id) if isinstance(node, ast.Name) else constant(node.value)  # type: ignore[attr-defined]


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of a function's body, not those of functions and classes in it."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack.extend(children(node))


def own_yields(node: ast.FunctionDef) -> bool:
    """Tell whether the function itself is a generator function."""
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in own_nodes(node.body))
