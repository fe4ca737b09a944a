"""The policy: which syntax a script may use.

RestrictedPython refuses every node that it does not know; here and in `expressions` stands what we add, and how it is
rewritten. All faults of a script are collected.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final

from RestrictedPython.transformer import RestrictingNodeTransformer

from picloud.engine.sandbox.call_shortcuts import CallShortcuts
from picloud.engine.sandbox.class_model import ALLOWED_METHODS
from picloud.engine.sandbox.expressions import SIGNS, Expressions
from picloud.engine.sandbox.kinds import STR
from picloud.engine.sandbox.limits import MAX_NAME
from picloud.engine.sandbox.scopes import Scopes
from picloud.engine.sandbox.shortcuts import needs_no_guard
from picloud.engine.sandbox.syntax_tree import (
    Visitor,
    call,
    children,
    constant,
    copied,
    is_simple,
    load,
    own_nodes,
    own_yields,
    placed,
    store,
)
from picloud.types import Fault

RESERVED_NAMES: Final = frozenset({"printed", "builtins", "breakpoint"})
UNASSIGNABLE: Final = frozenset({"print", "super"})
PATTERN_CLASSES: Final = frozenset("str int float bool list tuple dict set bytes".split())
ADVICE: Final[dict[str, str]] = {
    "AsyncFunctionDef": "async functions are not available: SDK calls wait by themselves",
    "AsyncFor": "async for is not available: SDK calls wait by themselves",
    "AsyncWith": "async with is not available: SDK calls wait by themselves",
    "Await": "await is not available: SDK calls wait by themselves",
    "TryStar": "except* is not available: use except",
    "TypeAlias": "type aliases are not available",
    "TemplateStr": "t-strings are not available: use f-strings",
    "Interpolation": "t-strings are not available: use f-strings",
}
_NO_GUARD_IN_PLACE: Final = (ast.Div, ast.RShift)


class Policy(Expressions):
    """One pass over one script. `nodes` are all of it, the module first; `faults` holds all that is wrong."""

    def __init__(self, nodes: list[ast.AST], importable: Mapping[str, frozenset[str]], foreign: frozenset[str]) -> None:
        Visitor.__init__(self)
        RestrictingNodeTransformer.__init__(self, [], [], {})
        self.faults: list[Fault] = []
        self._present = frozenset(map(type, nodes))
        """Types of nodes in the script: what is not there need not be searched for."""
        self.scopes = Scopes(nodes, foreign)
        self.shortcuts = CallShortcuts(self.scopes)
        self._importable = importable
        self._in_class = [False]
        self._fields: list[list[str]] = []
        self._generators: list[ast.FunctionDef] = []

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt):
            self.scopes.start_statement()
        return super().visit(node)

    # What the base class calls.

    def error(self, node: ast.AST, info: str) -> None:
        self.faults.append(Fault(getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1, info))

    def warn(self, node: ast.AST, info: str) -> None:
        """Warnings of the base class concern printing, which works differently here."""

    def not_allowed(self, node: ast.AST) -> None:
        name = type(node).__name__
        self.error(node, ADVICE.get(name, f"{name} is not available in scripts"))

    def inject_print_collector(self, node: ast.AST, position: int = 0) -> None:
        """print() is a function of ours."""

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = False) -> None:
        if name is None or name == "_":
            return
        if len(name) > MAX_NAME:
            self.error(node, f"the name '{name[:60]}…' is longer than {MAX_NAME} characters")
        if name.startswith("_"):
            if not (allow_magic_methods and name in ALLOWED_METHODS and self._in_class[-1]):
                self.error(node, f"the name '{name}' is not available: names that start with '_' are reserved")
        elif name.endswith("__roles__") or name in RESERVED_NAMES:
            self.error(node, f"the name '{name}' is reserved")

    def visit_Name(self, node: ast.Name) -> ast.expr:
        self.check_name(node, node.id)
        if not isinstance(node.ctx, ast.Load) and node.id in UNASSIGNABLE:
            self.error(node, f"'{node.id}' cannot be given another value")
        return node

    # Assignment.

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            bounds = [
                constant(None) if b is None else self.visit(b)
                for b in (target.slice.lower, target.slice.upper, target.slice.step)
            ]
            return placed(ast.Expr(call("_setslice_", self.visit(node.value), self.visit(target.value), *bounds)), node)
        shapes = [shape for t in node.targets if (shape := self.star_shape(t)) is not None]
        node = self.node_contents_visit(node)
        if any(parts for _, parts in shapes):
            if len(node.targets) > 1:
                self.error(node, "a nested target with a star is only available in an assignment to one target")
            node.value = placed(call("_unpack_", node.value, constant(shapes[0])), node.value)
        elif shapes:
            node.value = placed(call("_star_", node.value), node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if self._in_class[-1] and isinstance(node.target, ast.Name) and not _is_class_variable(node.annotation):
            self.check_name(node, node.target.id)
            self._fields[-1].append(node.target.id)
        if node.value is None:
            return placed(ast.Pass(), node)
        return self.visit_Assign(placed(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target = node.target
        sign = SIGNS.get(type(node.op))
        if sign is None:
            self.error(node, "the @ operator is not available")
            return node
        if isinstance(target, ast.Name):
            return self._augment_name(node, target, sign)
        if isinstance(target, ast.Subscript):
            if isinstance(target.slice, ast.Slice):
                self.error(node, "augmented assignment to a slice is not available")
                return node
            return self._augment_item(node, target, sign)
        self.check_attribute(target)
        of = self.visit(target.value)
        return placed(ast.Expr(_part_change("attr", of, constant(target.attr), sign, self.visit(node.value))), node)

    def _augment_name(self, node: ast.AugAssign, target: ast.Name, sign: str) -> ast.stmt:
        reader = self.scopes.reader
        before, kind = reader.kind_of(target), reader.kind_of(node.value)
        node = self.node_contents_visit(node)
        value = node.value
        is_number = isinstance(value, ast.Constant) and type(value.value) in (int, float)
        if isinstance(node.op, _NO_GUARD_IN_PLACE) or (is_number and isinstance(node.op, ast.Add | ast.Sub)):
            return node
        if needs_no_guard(node.op, before, kind):
            return node
        change: ast.expr | None
        if before is not None and before == kind == STR and isinstance(node.op, ast.Add):
            change = self.shortcuts.operation("_add_", node.op, load(target.id), value, (before, kind))
        else:
            change = self.shortcuts.change(sign, node.op, load(target.id), value, kind)
        if change is None:
            change = call("_augment_", constant(sign), load(target.id), value)
        return placed(ast.Assign([store(target.id)], change), node)

    def _augment_item(self, node: ast.AugAssign, target: ast.Subscript, sign: str) -> ast.stmt:
        """`container[key] <sign>= value`; one by one where looking up both twice changes nothing."""
        reader = self.scopes.reader
        kinds = reader.kind_of(target.value), reader.kind_of(target.slice), reader.kind_of(node.value)
        container, key, value = self.visit(target.value), self.visit(target.slice), self.visit(node.value)
        if self.scopes.is_steady(container) and isinstance(container, ast.Name) and self.scopes.is_steady(key):
            old = ast.Subscript(container, self.guarded_key(key, kinds[1]), ast.Load())
            change = self.shortcuts.change(sign, node.op, old, value, kinds[2])
            if change is not None:
                again = self.writable_items(copied(container), kinds[0])
                new = ast.Subscript(again, self.guarded_key(copied(key), kinds[1], stored=True), ast.Store())
                return placed(ast.Assign([new], change), node)
        return placed(ast.Expr(_part_change("item", container, key, sign, value)), node)

    def visit_Delete(self, node: ast.Delete) -> ast.AST:
        return self.node_contents_visit(node)

    # Control flow.

    def visit_Try(self, node: ast.Try) -> ast.AST:
        for jump in _jumps_out(node.finalbody):
            word = type(jump).__name__.lower()
            self.error(jump, f"'{word}' that leaves a finally block is not available: it would swallow errors")
        return self.node_contents_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.check_name(node, node.name)
        if node.name in UNASSIGNABLE:
            self.error(node, f"'{node.name}' cannot be given another value")
        if node.type is None:
            # a bare except would catch what stops the script
            node.type = ast.copy_location(ast.Name("Exception", ast.Load()), node)
            node = self.node_contents_visit(node)
            node.type = placed(load("_Exception_"), node)
            return node
        return self.node_contents_visit(node)

    def visit_With(self, node: ast.With) -> ast.AST:
        node = self.node_contents_visit(node)
        for item in node.items:
            item.context_expr = placed(call("_with_", item.context_expr), item.context_expr)
        return node

    # Functions and classes.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.check_name(node, node.name, allow_magic_methods=True)
        if node.name in UNASSIGNABLE:
            self.error(node, f"'{node.name}' cannot be given another value")
        self._check_arguments(node)
        node.returns = None
        if getattr(node, "type_params", None):
            self.error(node, "type parameters are not available")
        yields = self._has_yields() and own_yields(node)
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.args = self.visit(node.args)
        self._in_class.append(False)
        with self.scopes.function(node):
            node.body = [self.visit(statement) for statement in node.body]
        self._in_class.pop()
        if yields:
            returns = any(isinstance(n, ast.Return) and n.value is not None for n in own_nodes(node.body))
            node.decorator_list.append(placed(load("_returning_" if returns else "_generator_"), node))
        return node

    def _has_yields(self) -> bool:
        return not self._present.isdisjoint((ast.Yield, ast.YieldFrom))

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._check_arguments(node)
        if self._has_yields() and any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node.body)):
            self.error(node, "yield in a lambda is not available")
        node.args = self.visit(node.args)
        self._in_class.append(False)
        with self.scopes.function(node):
            node.body = self.visit(node.body)
        self._in_class.pop()
        return node

    def _check_arguments(self, node: ast.FunctionDef | ast.Lambda) -> None:
        arguments = node.args
        for argument in (
            *arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg
        ):  # fmt: skip
            if argument is not None:
                self.check_name(argument, argument.arg)
                if argument.arg in UNASSIGNABLE:
                    self.error(argument, f"'{argument.arg}' cannot be given another value")
                argument.annotation = None

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        return self.node_contents_visit(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        return self.node_contents_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.check_name(node, node.name)
        if node.keywords:
            self.error(node, "class keyword arguments (metaclass=…) are not available")
        if getattr(node, "type_params", None):
            self.error(node, "type parameters are not available")
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.bases = [self.visit(base) for base in node.bases]
        self._in_class.append(True)
        self._fields.append([])
        with self.scopes.class_body():
            node.body = [self.visit(statement) for statement in node.body]
        self._in_class.pop()
        fields = self._fields.pop()
        for base in node.bases:
            if isinstance(base, ast.Starred):
                base.value = placed(call("_star_", base.value), base)
        node.keywords = [ast.keyword("metaclass", load("_ScriptClass_"))]
        if fields:
            names = ast.Tuple([constant(name) for name in fields], ast.Load())
            node.body.append(ast.Assign([store("_fields_")], names))
        return placed(node, node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        for name in node.names:
            self.check_name(node, name)
            if name in UNASSIGNABLE:
                self.error(node, f"'{name}' cannot be given another value")
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        for name in node.names:
            self.check_name(node, name)
        return node

    # Match.

    def visit_Match(self, node: Any) -> Any:
        return self.node_contents_visit(node)

    visit_match_case = visit_MatchSequence = visit_MatchOr = visit_MatchSingleton = visit_Match

    def visit_MatchAs(self, node: Any) -> Any:
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        self.check_name(node, name)
        if name in UNASSIGNABLE:
            self.error(node, f"'{name}' cannot be given another value")
        return self.node_contents_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        for key in node.keys:
            self._check_constant(key, "keys")
        return self.visit_MatchAs(node)  # type: ignore[no-any-return]

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        self._check_constant(node.value, "values")
        return node

    def _check_constant(self, value: ast.expr, what: str) -> None:
        constant = value.operand if isinstance(value, ast.UnaryOp) else value
        if not isinstance(constant, ast.Constant):
            self.error(value, f"only constants are available as {what} in a pattern")

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        kind = node.cls
        known = isinstance(kind, ast.Name) and kind.id in PATTERN_CLASSES
        if not known or len(node.patterns) > 1 or node.kwd_attrs:
            self.error(node, f"class patterns are only available for {', '.join(sorted(PATTERN_CLASSES))}")
            return node
        node.cls = placed(load(f"_t_{kind.id}_"), kind)  # type: ignore[attr-defined]
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    # Imports.

    def visit_Import(self, node: ast.Import) -> ast.AST:
        for alias in node.names:
            if alias.name not in self._importable:
                self._refuse_module(node, alias.name)
            self.check_name(node, alias.asname)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        module = node.module or ""
        offered = None if node.level else self._importable.get(module)
        if offered is None:
            self._refuse_module(node, "." * node.level + module)
            return node
        for alias in node.names:
            if alias.name not in offered:
                what = "import *" if alias.name == "*" else f"'{alias.name}'"
                names = ", ".join(sorted(offered))
                self.error(node, f"{what} is not available in module '{module}' (available: {names})")
            self.check_name(node, alias.asname or alias.name)
        return node

    def _refuse_module(self, node: ast.AST, name: str) -> None:
        names = ", ".join(sorted(self._importable))
        self.error(node, f"module '{name}' is not available (available: {names})")


def _part_change(part: str, of: ast.expr, key: ast.expr, sign: str, value: ast.expr) -> ast.expr:
    """Change an item or an attribute; Python reads it before it computes what to change it by."""
    if is_simple(value):
        return call(f"_aug{part}_", of, key, constant(sign), value)
    return ast.Call(call(f"_begin_aug{part}_", of, key, constant(sign)), [value], [])


def _is_class_variable(annotation: ast.expr) -> bool:
    """Tell `ClassVar` and `ClassVar[…]`, which make no field of a dataclass."""
    return any(isinstance(node, ast.Name) and node.id == "ClassVar" for node in ast.walk(annotation))


def _jumps_out(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Return, break and continue that leave these statements."""
    stack: list[tuple[ast.AST, bool]] = [(statement, False) for statement in body]
    while stack:
        node, in_loop = stack.pop()
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not in_loop):
            yield node
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        is_loop = isinstance(node, ast.For | ast.While)
        for child in children(node):
            in_else = is_loop and child in node.orelse  # type: ignore[attr-defined]
            stack.append((child, in_loop if in_else else in_loop or is_loop))
