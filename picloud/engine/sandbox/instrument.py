"""Ticks: tests of the stop flag, put where a script can go on for long.

The flag is a free variable of the script's code, so a tick is two instructions. It stays set once it is set: a script
that swallows the stop only reaches its next tick.
"""

from __future__ import annotations

import ast
from typing import Any

from picloud.engine.sandbox.binding import Binding
from picloud.engine.sandbox.syntax_tree import LEAVES, Visitor, call, children, load, place_all, placed

FLAG = "_stop_"
MODULE = "_module_"
_Place = dict[str, int]


class Ticks(Visitor):
    """Put a tick at the start of functions, lambdas, loop bodies, comprehension steps, handlers and finally blocks.

    The last pass: it also gives a place to every node that has none yet, that of the node above it, and binds names.
    """

    def __init__(self, binding: Binding) -> None:
        super().__init__()
        self._binding = binding
        self._place: _Place = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
        """Of the node above."""

    def visit(self, node: ast.AST) -> Any:
        kind, own = type(node), node.__dict__
        is_placed = "lineno" in own
        if not is_placed:
            own.update(self._place)
        if kind in LEAVES:
            return self._binding.replace(node) if isinstance(node, ast.Name) and node.id[0] == "_" else node
        visitor = self._visitors.get(kind) or self._find_visitor(kind)
        if not is_placed:
            return visitor(node)
        above = self._place
        self._place = {
            "lineno": own["lineno"],
            "col_offset": own["col_offset"],
            "end_lineno": own["end_lineno"],
            "end_col_offset": own["end_col_offset"],
        }
        made = visitor(node)
        self._place = above
        return made

    generic_visit = Visitor.visit_below

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if type(node.func) is ast.Name:
            # only where it is called: what is computed from two constants, the compiler computes
            node.func = self._binding.replace(placed(node.func, node))
        return self.generic_visit(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        placed(node.cls, node)  # stays a name: syntax takes nothing else here
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, _tick(node))
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, _tick(node))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        at = 0
        while at < len(node.body) and (_is_docstring(node.body[at], at) or _is_declaration(node.body[at])):
            at += 1
        node.body.insert(at, _tick(node))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        node.body = place_all(ast.IfExp(load(FLAG), call("_die_"), node.body), node.body)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        test = ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), load(FLAG)), call("_die_")])
        node.ifs.insert(0, place_all(test, node.iter))
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self.generic_visit(node)
        for handler in node.handlers:
            handler.body.insert(0, _tick(handler))
        if node.finalbody:
            node.finalbody.insert(0, _tick(node.finalbody[0]))
        return node


def enclose(tree: ast.Module) -> ast.Module:
    """Make the module's body a function whose free variable is the stop flag; its names stay globals."""
    names = sorted(_bound_names(tree.body))
    body: list[ast.stmt] = [ast.Global(names)] if names else []
    body += [_tick(tree.body[0]) if tree.body else ast.Pass(), *tree.body]
    template = ast.parse(f"def _maker_():\n {FLAG} = False\n def {MODULE}(): pass")
    (maker,) = template.body
    module = maker.body[1]  # type: ignore[attr-defined]
    ast.fix_missing_locations(template)
    module.body = [placed(statement, module) for statement in body]
    return template


def _tick(at: ast.AST) -> ast.stmt:
    return place_all(ast.If(load(FLAG), [ast.Expr(call("_die_"))], []), at)


def _is_docstring(statement: ast.stmt, at: int) -> bool:
    return at == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_declaration(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Global | ast.Nonlocal)


def _bound_names(body: list[ast.stmt]) -> set[str]:
    """Every name that the module's own code binds; what a shortcut keeps stays local."""
    names: set[str] = set()
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if node.id[:1] != "_" or node.id == "_":
                names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            stack.extend(node.decorator_list)
            if isinstance(node, ast.FunctionDef):
                stack.extend([*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]])
            else:
                stack.extend([*node.bases, *[k.value for k in node.keywords]])
            continue
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        elif isinstance(node, ast.Lambda):
            stack.extend([*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]])
            continue
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            names |= _walrus_names(node)
            continue
        stack.extend(children(node))
    return names


def _walrus_names(comprehension: ast.AST) -> set[str]:
    """An assignment expression in a comprehension binds outside of it."""
    return {
        node.target.id
        for node in ast.walk(comprehension)
        if isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name)
    }
