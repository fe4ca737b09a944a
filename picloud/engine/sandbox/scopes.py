"""Whose a name is, and what kind of value it has: one scope per function, comprehension, class and module.

A name is steady in the function that binds it when nothing else can bind it: then it may be loaded twice and is the
same value, and what was tested of it still holds. The variables that shortcuts put results in are locals of their
function for the same reason: a comprehension or a class would share them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from picloud.engine.sandbox.kinds import Counted, Kind, Reader, solve
from picloud.engine.sandbox.syntax_tree import children

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_COMPREHENSIONS: Final = frozenset([ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp])

_NAMED: Final[dict[type, str]] = {
    ast.FunctionDef: "name", ast.ClassDef: "name", ast.alias: "asname", ast.ExceptHandler: "name", ast.MatchAs: "name",
    ast.MatchStar: "name", ast.MatchMapping: "rest",
}  # fmt: skip
"""Nodes that bind a name which is no node of its own."""
_BINDERS: Final = frozenset(
    [*_NAMED, ast.Name, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.Global, ast.Nonlocal]
)


class Scope:
    """The names of one piece of code."""

    def __init__(self, names: frozenset[str], kinds: dict[str, Kind], *, steady: bool, has_temporaries: bool) -> None:
        self.names = names
        self.kinds = kinds
        self.steady = steady
        self.has_temporaries = has_temporaries
        self.temporaries = 0
        self.unsteady: frozenset[str] = frozenset()


class Scopes:
    """The scopes around the place where the policy is."""

    def __init__(self, nodes: list[ast.AST], foreign: frozenset[str]) -> None:
        """`nodes` are all of a script, the module first; `foreign` the names that it finds without binding them."""
        tree = nodes[0]
        assert isinstance(tree, ast.Module)
        self._bound_somewhere = frozenset(_names_bound_by(nodes))
        self._shared = frozenset(_names_with_two_binders(nodes))
        self.reader = Reader(self._look_up, self._is_builtin)
        self._stack: list[Scope] = []
        self._stack.append(self._solve(tree.body, [], foreign, steady=False))
        self._without_temporaries = 0

    def has_temporaries(self) -> bool:
        """Whether code here can have variables that nothing else sees."""
        return self._stack[-1].has_temporaries and not self._without_temporaries

    def temporary(self) -> str | None:
        """Return the name of a new variable of this function; None where there can be none."""
        if not self.has_temporaries():
            return None
        scope = self._stack[-1]
        scope.temporaries += 1
        return f"_{scope.temporaries}_"

    def is_steady(self, node: ast.expr) -> bool:
        """Whether the value of a node is the same when it is evaluated again within its expression."""
        scope = self._stack[-1]
        return isinstance(node, ast.Constant) or (
            isinstance(node, ast.Name)
            and scope.steady
            and node.id in scope.names
            and node.id not in scope.unsteady
            and node.id not in self._shared
        )

    def start_statement(self) -> None:
        """Use the variables again: none of them is needed past its statement."""
        self._stack[-1].temporaries = 0

    @contextmanager
    def function(self, node: ast.FunctionDef | ast.Lambda) -> Iterator[None]:
        """Enter the body of a function."""
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        body: list[ast.stmt] = node.body if isinstance(node.body, list) else [ast.Expr(node.body)]
        parameters = [argument.arg for argument in every if argument is not None]
        self._stack.append(self._solve(body, parameters, self._shared, steady=True))
        yield
        self._stack.pop()

    @contextmanager
    def comprehension(self, node: Comprehension) -> Iterator[None]:
        """Enter a comprehension."""
        names = frozenset(_names_bound_by(all_nodes(node)))
        # what is iterated over first belongs to the code around: there a name of ours is another one
        parts = all_nodes(node.generators[0].iter)
        outer = frozenset([part.id for part in parts if isinstance(part, ast.Name)])
        in_class = len(self._stack) > 1 and not self._stack[-1].steady
        # and in a class it may be the class's own, which nothing else here sees
        scope = Scope(names | outer if in_class else names, {}, steady=True, has_temporaries=False)
        scope.unsteady = outer
        self._stack.append(scope)
        self._without_temporaries += 1
        yield
        self._without_temporaries -= 1
        self._stack.pop()

    @contextmanager
    def class_body(self) -> Iterator[None]:
        """Enter a class's body, whose names its methods do not see."""
        # all that is bound anywhere may be the class's own here
        self._stack.append(Scope(self._bound_somewhere, {}, steady=False, has_temporaries=False))
        yield
        self._stack.pop()

    def _solve(self, body: list[ast.stmt], parameters: list[str], open_: frozenset[str], *, steady: bool) -> Scope:
        found = _Bindings(body)
        names = (found.names | set(parameters)) - found.elsewhere
        known = names - found.unknown - set(parameters) - open_ - self._shared
        # found from the end to the start
        bindings = {name: values for name, values in reversed(found.values.items()) if name in known}
        kinds = solve(bindings, lambda name: None if name in names else self._look_up(name), self._is_builtin)
        return Scope(frozenset(names), kinds, steady=steady, has_temporaries=True)

    def _look_up(self, name: str) -> Kind | None:
        for at in range(len(self._stack) - 1, -1, -1):
            scope = self._stack[at]
            if name in scope.names and (scope.steady or at == 0 or at == len(self._stack) - 1):
                return scope.kinds.get(name)
        return None

    def _is_builtin(self, name: str) -> bool:
        return name not in self._bound_somewhere


class _Bindings:
    """What the code of one scope binds: `values` where that is an expression, `unknown` where it is anything."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.names: set[str] = set()
        self.values: dict[str, list[ast.expr]] = {}
        self.unknown: set[str] = set()
        self.elsewhere: set[str] = set()
        """Declared `global` or `nonlocal`."""
        self._explained: set[int] = set()
        stack: list[ast.AST] = list(body)
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind in _BINDERS:
                self._take(node)
            if kind is ast.FunctionDef:
                stack += [*node.decorator_list, node.args]  # type: ignore[attr-defined]
            elif kind is ast.Lambda:
                stack.append(node.args)  # type: ignore[attr-defined]
            elif kind is ast.ClassDef:
                stack += [*node.decorator_list, *node.bases]  # type: ignore[attr-defined]
            elif kind not in _COMPREHENSIONS:
                stack += children(node)
        self.names |= self.unknown | set(self.values)

    def _take(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load) and id(node) not in self._explained:
                self.unknown.add(node.id)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._bind(node.target, ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))
        elif isinstance(node, ast.For):
            self._bind_loop(node.target, node.iter)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            self.elsewhere.update(node.names)
        else:
            name = _other_name(node) if type(node) in _NAMED else None
            self.unknown.update([] if name is None else [name])

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._explained.add(id(target))
            self.values.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            if any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts)):
                return
            for part, its_value in zip(target.elts, value.elts, strict=True):
                self._bind(part, its_value)

    def _bind_loop(self, target: ast.expr, source: ast.expr) -> None:
        if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Name):
            return
        function, bounds = source.func.id, [*source.args, *[keyword.value for keyword in source.keywords]]
        if any(isinstance(bound, ast.Starred) for bound in bounds) or None in [k.arg for k in source.keywords]:
            return
        if function == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
            target, bounds = target.elts[0], [ast.Constant(1 << 63), *bounds[1:]]
        elif function != "range":
            return
        if isinstance(target, ast.Name):
            self._bind(target, Counted(function, bounds[:2]))


def all_nodes(tree: ast.AST) -> list[ast.AST]:
    """Return a node and all below it."""
    found = [tree]
    for node in found:
        found += children(node)
    return found


def _names_bound_by(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
                yield node.id  # type: ignore[attr-defined]
        elif kind is ast.arg:
            yield node.arg  # type: ignore[attr-defined]
        elif kind in _NAMED:
            name = _other_name(node)
            if name is not None:
                yield name


def _other_name(node: ast.AST) -> str | None:
    name: str | None = getattr(node, _NAMED[type(node)])
    if name is None and isinstance(node, ast.alias):
        return node.name.split(".")[0]
    return name


def _names_with_two_binders(nodes: list[ast.AST]) -> Iterator[str]:
    """Names that more than their own scope may bind: global, nonlocal, and targets of assignment expressions."""
    for node in nodes:
        if isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
            yield node.target.id
