"""Small pieces of syntax tree that the policy puts in place of what a script says."""

from __future__ import annotations

import ast
from typing import Any, TypeVar

N = TypeVar("N", bound=ast.AST)


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
    """Give a new piece, and all in it that has no place yet, the place of what it stands for."""
    for node in ast.walk(new):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, old)
    return new


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


def again(node: ast.expr) -> ast.expr:
    """Return a copy of a simple node."""
    return load(node.id) if isinstance(node, ast.Name) else constant(node.value)  # type: ignore[attr-defined]
