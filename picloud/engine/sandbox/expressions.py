"""The policy's expressions: what may be said, and the guard that is called where an operation can grow or lead out."""

from __future__ import annotations

import ast
import itertools
from typing import Any, Final, TypeVar

from RestrictedPython.transformer import INSPECT_ATTRIBUTES, RestrictingNodeTransformer

from picloud.engine.sandbox.call_shortcuts import CallShortcuts
from picloud.engine.sandbox.kinds import Kind
from picloud.engine.sandbox.scopes import Comprehension, Scopes
from picloud.engine.sandbox.shortcuts import is_atomic, is_small, needs_no_guard
from picloud.engine.sandbox.syntax_tree import (
    Visitor,
    call,
    constant,
    copied,
    is_simple,
    is_type,
    load,
    placed,
    star_shape,
)

C = TypeVar("C", bound=Comprehension)

_SEARCHED: Final = frozenset([list, tuple, dict, set, str])
"""Types whose search has an end."""

SIGNS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^",
}  # fmt: skip
GUARDED: Final[dict[type[ast.operator], str]] = {
    ast.Add: "_add_", ast.Sub: "_sub_", ast.Mult: "_mul_", ast.Mod: "_mod_", ast.FloorDiv: "_floordiv_",
    ast.Pow: "_pow_", ast.LShift: "_shl_", ast.BitOr: "_or_", ast.BitAnd: "_and_", ast.BitXor: "_xor_",
}  # fmt: skip
HIDDEN_CALLS: Final = frozenset(
    "eval exec compile open globals locals vars dir input __import__ memoryview object id delattr breakpoint exit quit"
    " help bytearray complex slice".split()
)
READABLE_DUNDERS: Final = frozenset({"__name__"})


class Expressions(Visitor, RestrictingNodeTransformer):
    """Rewrites expressions, with what `scopes` and `shortcuts` know of the place."""

    scopes: Scopes
    shortcuts: CallShortcuts

    def generic_visit(self, node: ast.AST) -> Any:
        """Refuse what has no rule, as the base class does."""
        return RestrictingNodeTransformer.generic_visit(self, node)

    node_contents_visit = Visitor.visit_below

    # Names and attributes.

    def check_attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        if name.startswith("_") and name != "_" and not _is_readable_dunder(node):
            self.error(node, f"the attribute '{name}' is not available: names that start with '_' are reserved")
        elif name in INSPECT_ATTRIBUTES or name.endswith("__roles__") or name == "mro":
            self.error(node, f"the attribute '{name}' is not available")

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.check_attribute(node)
        node = self.node_contents_visit(node)
        if isinstance(node.ctx, ast.Load):
            return placed(call("_getattr_", node.value, constant(node.attr)), node)
        node.value = placed(call("_write_", node.value, constant(node.attr)), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Name) and function.id in HIDDEN_CALLS:
            self.error(node, f"{function.id}() is not available in scripts")
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                argument.value = placed(call("_star_", self.visit(argument.value)), argument)
        kinds = [self.scopes.reader.kind_of(a) for a in node.args]
        plain = [self.visit(a) if not isinstance(a, ast.Starred) else a for a in node.args]
        for keyword in node.keywords:
            self.visit_keyword_argument(keyword)
        node.args = plain
        if isinstance(function, ast.Attribute):
            return self.method_call(node, function, kinds)
        node.func = self.visit(function)
        return self._builtin_call(node, kinds)

    def visit_keyword_argument(self, keyword: ast.keyword) -> None:
        if keyword.arg is not None:
            self.check_name(keyword.value, keyword.arg)
        keyword.value = self.visit(keyword.value)
        if keyword.arg is None:
            keyword.value = placed(call("_mapping_", keyword.value), keyword.value)

    def method_call(self, node: ast.Call, function: ast.Attribute, kinds: list[Kind | None]) -> ast.expr:
        """`receiver.method(…)`."""
        name = function.attr
        self.check_attribute(function)
        kind = self.scopes.reader.kind_of(function.value)
        receiver = self.visit(function.value)
        if not name.startswith("_"):
            made = self.shortcuts.method(receiver, kind, name, node, kinds)
            made = made or self.shortcuts.fused(receiver, name, node)
            if made is not None:
                return placed(made, node)
        node.func = placed(call("_getattr_", receiver, constant(name)), function)
        return node

    def _builtin_call(self, node: ast.Call, kinds: list[Kind | None]) -> ast.expr:
        """`len(x)`, `set()` and `int(text)`: the real ones do no more than ours."""
        function = node.func
        if isinstance(function, ast.Name) and not node.keywords and self.scopes.reader.is_builtin(function.id):
            alone = len(node.args) == 1 and not isinstance(node.args[0], ast.Starred)
            if alone and function.id == "len":
                node.func = placed(load("_len_"), function)
            elif alone and function.id in ("int", "float"):
                return placed(self.shortcuts.number(function.id, node, kinds[0]) or node, node)
            elif function.id == "round" and len(node.args) == 2:
                return placed(self.shortcuts.rounded(node) or node, node)
            elif function.id in ("set", "dict", "list") and not node.args:
                node.func = placed(load(f"_{function.id}_"), function)
        return node

    # Items and slices.

    def guarded_key(self, key: ast.expr, kind: Kind | None, *, stored: bool = False) -> ast.expr:
        if is_atomic(kind) or isinstance(key, ast.Constant | ast.UnaryOp):
            return key
        return placed(self.shortcuts.key(key, stored=stored) or call("_newkey_" if stored else "_key_", key), key)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        kind, key_kind = self.scopes.reader.kind_of(node.value), self.scopes.reader.kind_of(node.slice)
        node = self.node_contents_visit(node)
        index = node.slice
        if isinstance(index, ast.Slice):
            return self._slice(node, index)
        node.slice = self.guarded_key(index, key_kind, stored=isinstance(node.ctx, ast.Store))
        if isinstance(node.ctx, ast.Store):
            node.value = self.writable_items(node.value, kind)
        elif isinstance(node.ctx, ast.Del) and (kind is None or kind.type not in (dict, list)):
            node.value = placed(call("_delitem_", node.value), node.value)
        return node

    def writable_items(self, value: ast.expr, kind: Kind | None) -> ast.expr:
        """Guard the container of a target."""
        if kind is not None and kind.type in (dict, list):
            return value
        if not isinstance(value, ast.Name):
            return placed(call("_writeitem_", value), value)
        either = ast.BoolOp(ast.Or(), [is_type(load(value.id), "_dict_"), is_type(load(value.id), "_list_")])
        return placed(ast.IfExp(either, load(value.id), call("_writeitem_", load(value.id))), value)

    def _slice(self, node: ast.Subscript, index: ast.Slice) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            bounds = [bound or constant(None) for bound in (index.lower, index.upper, index.step)]
            return placed(call("_slice_", node.value, *bounds), node)
        if isinstance(node.ctx, ast.Store):
            self.error(node, "slice assignment is only available as a statement of its own: x[a:b] = value")
        node.value = placed(call("_writeitem_", node.value), node)
        return node

    # Operators.

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        kinds = self.scopes.reader.kind_of(node.left), self.scopes.reader.kind_of(node.right)
        node = self.node_contents_visit(node)
        left, right, kind = node.left, node.right, type(node.op)
        if kind is ast.MatMult:
            self.error(node, "the @ operator is not available")
        guard = GUARDED.get(kind)
        if guard is None or _cannot_grow(left, right, kind) or needs_no_guard(node.op, *kinds):
            return node
        otherwise = self.shortcuts.operation(guard, node.op, left, right, kinds)
        # a sum or a difference with a long integer costs its length; a division, the product of both
        cheap = kind in (ast.Add, ast.Sub) or (kind in (ast.Mod, ast.FloorDiv) and is_small(kinds[1]))
        if cheap and isinstance(left, ast.Name) and is_simple(right) and (kinds[0] is None or kinds[0].type is int):
            plain = ast.BinOp(copied(left), node.op, copied(right))
            otherwise = otherwise or call(guard, copied(left), copied(right))
            return placed(ast.IfExp(is_type(copied(left), "_int_"), plain, otherwise), node)
        return placed(otherwise or call(guard, left, right), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        kinds = [self.scopes.reader.kind_of(item) for item in (node.left, *node.comparators)]
        node = self.node_contents_visit(node)
        operators = node.ops
        if any(isinstance(operator, ast.In | ast.NotIn) for operator in operators):
            if len(operators) > 1:
                self.error(node, "'in' cannot be chained with other comparisons: use 'and'")
                return node
            return self._membership(node, kinds[0], kinds[1])
        items = [node.left, *node.comparators]
        for at, operator in enumerate(operators):
            # the left side decides how deep a comparison goes; against an atom it goes nowhere
            guarded = not isinstance(operator, ast.Is | ast.IsNot)
            if guarded and not is_atomic(kinds[at]) and not is_atomic(kinds[at + 1]):
                items[at] = self._comparable(items[at])
        node.left, node.comparators = items[0], items[1:]
        return node

    def _membership(self, node: ast.Compare, kind: Kind | None, of: Kind | None) -> ast.expr:
        """Guard what is compared, and what is searched: C code would go through an endless iterator."""
        item, container = node.left, node.comparators[0]
        short = isinstance(item, ast.Constant) and isinstance(item.value, str) and len(item.value) < 1000
        small = is_small(kind) or (kind is not None and kind.type in (float, bool))
        cheap = short or small
        if cheap and of is not None and of.type in _SEARCHED:
            return node
        found = self.shortcuts.contains(item, container, cheap=cheap) or call("_contains_", item, container)
        return placed(ast.UnaryOp(ast.Not(), found) if isinstance(node.ops[0], ast.NotIn) else found, node)

    def _comparable(self, item: ast.expr) -> ast.expr:
        quick = self.shortcuts.comparable(item)
        if quick is None and isinstance(item, ast.Name):
            quick = ast.IfExp(is_type(item, "_int_"), load(item.id), call("_cmp_", load(item.id)))
        return placed(quick or call("_cmp_", item), item)

    # Displays, comprehensions, text.

    def visit_List(self, node: ast.List) -> ast.expr:
        return self._display(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        return self._display(node)

    def visit_Set(self, node: ast.Set) -> ast.expr:
        node = self.node_contents_visit(node)
        if any(isinstance(element, ast.Starred) for element in node.elts):
            return placed(self._set_by_steps(node.elts), node)
        node.elts = [e if isinstance(e, ast.Constant) else placed(call("_key_", e), e) for e in node.elts]
        return node

    def _set_by_steps(self, elements: list[ast.expr]) -> ast.expr:
        """A set display with stars: what stands before a star is hashed before that is evaluated."""
        plain = list(itertools.takewhile(lambda element: not isinstance(element, ast.Starred), elements))
        made = call("_key_set_", ast.Tuple(plain, ast.Load()))
        for element in elements[len(plain) :]:
            more = element.value if isinstance(element, ast.Starred) else ast.Tuple([element], ast.Load())
            made = call("_add_keys_", made, more)
        return made

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        kinds = [None if key is None else self.scopes.reader.kind_of(key) for key in node.keys]
        node = self.node_contents_visit(node)
        unpacks = None in node.keys
        for at, key in enumerate(node.keys):
            if key is None:
                node.values[at] = placed(call("_mapping_", node.values[at]), node.values[at])
        keys = zip(node.keys, kinds, strict=True)
        node.keys = [None if key is None else self.guarded_key(key, kind) for key, kind in keys]
        return placed(call("_sized_", node), node) if unpacks else node

    def _display(self, node: ast.List | ast.Tuple) -> ast.expr:
        node = self.node_contents_visit(node)
        return self._unpacked(node, node.elts) if isinstance(node.ctx, ast.Load) else node

    def _unpacked(self, node: ast.expr, elements: list[ast.expr]) -> ast.expr:
        starred = [e for e in elements if isinstance(e, ast.Starred)]
        for element in starred:
            element.value = placed(call("_star_", element.value), element)
        return placed(call("_sized_", node), node) if starred else node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        self._refuse_unpacking(node.elt)
        return placed(call("_gen_", self._comprehension(node)), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self._refuse_unpacking(node.elt)
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        self._refuse_unpacking(node.elt)
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        if getattr(node, "value", None) is None:
            self._refuse_unpacking(ast.Starred(node.key))
            return node
        return self._comprehension(node)

    def _comprehension(self, node: C) -> C:
        with self.scopes.comprehension(node):
            if isinstance(node, ast.SetComp):
                kind = self.scopes.reader.kind_of(node.elt)
            elif isinstance(node, ast.DictComp):
                kind = self.scopes.reader.kind_of(node.key)
            node = self.node_contents_visit(node)
            if isinstance(node, ast.SetComp):
                node.elt = self.guarded_key(node.elt, kind)
            elif isinstance(node, ast.DictComp):
                node.key = self.guarded_key(node.key, kind)
        return node

    def _refuse_unpacking(self, element: ast.expr) -> None:
        if isinstance(element, ast.Starred):
            self.error(element, "unpacking in comprehensions is not available")

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        if node.is_async:
            self.error(node.target, "async comprehensions are not available")
        return self.guard_iter(node)

    def guard_iter(self, node: Any) -> ast.AST:
        """Iteration itself needs no guard: scripts hold no proxies. Targets with stars do."""
        shape = self.star_shape(node.target)
        node = self.node_contents_visit(node)
        if shape is not None:
            node.iter = placed(call("_unpack_each_", node.iter, constant(shape)), node.iter)
        return node  # type: ignore[no-any-return]

    def star_shape(self, target: ast.expr) -> Any:
        try:
            return star_shape(target)
        except ValueError as fault:
            self.error(target, str(fault))
            return None

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        values = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        kinds = [self.scopes.reader.kind_of(value) for value in values]
        parts = [part if isinstance(part, ast.Constant) else self._field(part) for part in node.values]
        return placed(self.shortcuts.joined(parts, kinds) or call("_fstr_", *parts), node)

    def _field(self, part: ast.expr) -> ast.expr:
        assert isinstance(part, ast.FormattedValue)
        value = self.visit(part.value)
        spec = part.format_spec
        if spec is None:
            conversion = [constant(part.conversion)] if part.conversion != -1 else []
            return placed(call("_fmt_", value, *conversion), part)
        assert isinstance(spec, ast.JoinedStr)
        if all(isinstance(piece, ast.Constant) for piece in spec.values):
            known: ast.expr = constant("".join([piece.value for piece in spec.values]))  # type: ignore[attr-defined]
        else:
            known = self.visit(spec)
        return placed(call("_fmt_", value, constant(part.conversion), known), part)


def _is_readable_dunder(node: ast.Attribute) -> bool:
    if not isinstance(node.ctx, ast.Load):
        return False
    if node.attr in READABLE_DUNDERS:
        return True
    value = node.value
    is_super = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"
    return node.attr == "__init__" and is_super and not value.args  # type: ignore[attr-defined]


def _cannot_grow(left: ast.expr, right: ast.expr, kind: type[ast.operator]) -> bool:
    numbers = [isinstance(x, ast.Constant) and type(x.value) in (int, float) for x in (left, right)]
    if kind in (ast.Add, ast.Sub):
        return any(numbers)
    if kind is ast.Mod:
        return numbers[0]
    return kind is ast.Mult and any(isinstance(x, ast.Constant) and type(x.value) is float for x in (left, right))
