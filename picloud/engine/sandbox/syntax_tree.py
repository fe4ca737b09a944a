"""Small pieces of syntax tree that the policy puts in place of what a script says."""

from __future__ import annotations

import ast
from typing import Any, Final, TypeVar

N = TypeVar("N", bound=ast.AST)

LEAVES: Final = frozenset([ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, *ast.operator.__subclasses__()])
"""Nodes with nothing below but how a name is used."""
_USES: Final = frozenset([ast.Load, ast.Store, ast.Del])


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


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right below: `ast.iter_child_nodes`, much faster."""
    if type(node) in LEAVES:
        return []
    found: list[ast.AST] = []
    for value in node.__dict__.values():
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def visit_children(visitor: ast.NodeTransformer, node: N) -> N:
    """Visit what is right below and put the answers in its place: `ast.NodeTransformer.generic_visit`, twice as fast.

    What says how a name is used (`ast.Load`) is left out: there are three of them and nothing in them.
    """
    for field, value in node.__dict__.items():
        if type(value) is list:
            value[:] = _visit_list(visitor, value)
        elif isinstance(value, ast.AST) and type(value) not in _USES:
            made = visitor.visit(value)
            if made is not value:
                setattr(node, field, made)
    return node


def _visit_list(visitor: ast.NodeTransformer, values: list[Any]) -> list[Any]:
    return [visitor.visit(value) if isinstance(value, ast.AST) else value for value in values]


def is_simple(node: ast.expr) -> bool:
    """Whether a node may be evaluated twice."""
    return isinstance(node, ast.Name | ast.Constant)


def copied(node: ast.expr) -> ast.expr:
    """Return a copy of a simple node."""
    return load(node.id) if isinstance(node, ast.Name) else constant(node.value)  # type: ignore[attr-defined]
