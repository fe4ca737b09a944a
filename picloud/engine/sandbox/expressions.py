"""The policy's expressions: what may be said, and the guard that is called where an operation can grow or lead out."""

from __future__ import annotations

import ast
from typing import Final

from RestrictedPython.transformer import INSPECT_ATTRIBUTES, RestrictingNodeTransformer

from picloud.engine.sandbox.syntax_tree import again, call, constant, is_simple, is_type, load, placed

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


class Expressions(RestrictingNodeTransformer):
    """Rewrites expressions. `methods` collects the names of methods called, for their tables."""

    methods: set[str]

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
        plain = [self.visit(a) if not isinstance(a, ast.Starred) else a for a in node.args]
        for keyword in node.keywords:
            self.visit_keyword_argument(keyword)
        node.args = plain
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return self.method_call(node, function, function.value)
        node.func = self.visit(function)
        return node

    def visit_keyword_argument(self, keyword: ast.keyword) -> None:
        if keyword.arg is not None:
            self.check_name(keyword.value, keyword.arg)
        keyword.value = self.visit(keyword.value)

    def method_call(self, node: ast.Call, function: ast.Attribute, receiver: ast.Name) -> ast.expr:
        """`name.method(…)`: look-up and call in one step, by the table of that method."""
        self.check_attribute(function)
        self.visit(receiver)
        self.methods.add(function.attr)
        table = load(f"_m_{function.attr}_")
        known = ast.Subscript(table, call("_type_", load(receiver.id)), ast.Load())
        late = call("_method_", load(receiver.id), constant(function.attr))
        node.func = placed(ast.BoolOp(ast.Or(), [known, late]), function)
        node.args.insert(0, placed(load(receiver.id), receiver))
        return node

    # Items and slices.

    def guarded_key(self, key: ast.expr) -> ast.expr:
        if isinstance(key, ast.Constant | ast.UnaryOp | ast.BinOp | ast.JoinedStr):
            return key
        if isinstance(key, ast.Name):
            return placed(ast.IfExp(is_type(key, "_str_"), load(key.id), call("_key_", load(key.id))), key)
        return placed(call("_key_", key), key)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node = self.node_contents_visit(node)
        index = node.slice
        if isinstance(index, ast.Slice):
            return self._slice(node, index)
        node.slice = self.guarded_key(index)
        if isinstance(node.ctx, ast.Load):
            return node
        value = node.value
        if isinstance(node.ctx, ast.Del):
            node.value = placed(call("_delitem_", value), value)
        elif isinstance(value, ast.Name):
            either = ast.BoolOp(ast.Or(), [is_type(load(value.id), "_dict_"), is_type(load(value.id), "_list_")])
            node.value = placed(ast.IfExp(either, load(value.id), call("_writeitem_", load(value.id))), value)
        else:
            node.value = placed(call("_writeitem_", value), value)
        return node

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
        node = self.node_contents_visit(node)
        left, right, kind = node.left, node.right, type(node.op)
        if kind is ast.MatMult:
            self.error(node, "the @ operator is not available")
        guard = GUARDED.get(kind)
        if guard is None or _cannot_grow(left, right, kind):
            return node
        guarded = call(guard, left, right)
        if kind in (ast.Add, ast.Sub, ast.Mod, ast.FloorDiv) and isinstance(left, ast.Name) and is_simple(right):
            plain = ast.BinOp(load(left.id), node.op, again(right))
            both = is_type(load(left.id), "_int_")
            return placed(ast.IfExp(both, plain, call(guard, load(left.id), again(right))), node)
        return placed(guarded, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        node = self.node_contents_visit(node)
        operators = node.ops
        if any(isinstance(operator, ast.In | ast.NotIn) for operator in operators):
            if len(operators) > 1:
                self.error(node, "'in' cannot be chained with other comparisons: use 'and'")
                return node
            found: ast.expr = call("_contains_", node.left, node.comparators[0])
            if isinstance(operators[0], ast.NotIn):
                found = ast.UnaryOp(ast.Not(), found)
            return placed(found, node)
        items = [node.left, *node.comparators]
        needs_guard = [not isinstance(operator, ast.Is | ast.IsNot) for operator in operators]
        for at, guarded in enumerate(needs_guard):
            # the left side decides how deep a comparison goes; against an atom it goes nowhere
            if guarded and not _is_atom(items[at]) and not _is_atom(items[at + 1]):
                items[at] = self._comparable(items[at])
        node.left, node.comparators = items[0], items[1:]
        return node

    def _comparable(self, item: ast.expr) -> ast.expr:
        if isinstance(item, ast.Name):
            return placed(ast.IfExp(is_type(item, "_int_"), load(item.id), call("_cmp_", load(item.id))), item)
        return placed(call("_cmp_", item), item)

    # Displays, comprehensions, text.

    def visit_List(self, node: ast.List) -> ast.expr:
        return self._display(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        return self._display(node)

    def visit_Set(self, node: ast.Set) -> ast.expr:
        node = self.node_contents_visit(node)
        node.elts = [e if isinstance(e, ast.Constant | ast.Starred) else placed(call("_key_", e), e) for e in node.elts]
        return self._unpacked(node, node.elts)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        node = self.node_contents_visit(node)
        unpacks = None in node.keys
        node.keys = [None if key is None else self.guarded_key(key) for key in node.keys]
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
        return placed(call("_gen_", self.node_contents_visit(node)), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self._refuse_unpacking(node.elt)
        return self.node_contents_visit(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        self._refuse_unpacking(node.elt)
        node = self.node_contents_visit(node)
        node.elt = self.guarded_key(node.elt)
        return node

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        if getattr(node, "value", None) is None:
            self._refuse_unpacking(ast.Starred(node.key))
            return node
        node = self.node_contents_visit(node)
        node.key = self.guarded_key(node.key)
        return node

    def _refuse_unpacking(self, element: ast.expr) -> None:
        if isinstance(element, ast.Starred):
            self.error(element, "unpacking in comprehensions is not available")

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        if node.is_async:
            self.error(node.target, "async comprehensions are not available")
        return self.node_contents_visit(node)

    def guard_iter(self, node: ast.AST) -> ast.AST:
        """Iteration needs no guard: scripts hold no proxies."""
        return self.node_contents_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts = [part if isinstance(part, ast.Constant) else self._field(part) for part in node.values]
        return placed(call("_fstr_", *parts), node)

    def _field(self, part: ast.expr) -> ast.expr:
        assert isinstance(part, ast.FormattedValue)
        value = self.visit(part.value)
        if part.format_spec is not None:
            return placed(call("_fmt_", value, constant(part.conversion), self.visit(part.format_spec)), part)
        return placed(call("_fmt_", value, *([constant(part.conversion)] if part.conversion != -1 else [])), part)


def _is_readable_dunder(node: ast.Attribute) -> bool:
    if not isinstance(node.ctx, ast.Load):
        return False
    if node.attr in READABLE_DUNDERS:
        return True
    value = node.value
    is_super = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"
    return node.attr == "__init__" and is_super and not value.args  # type: ignore[attr-defined]


def _is_atom(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_fstr_", "len", "_type_")
    )


def _cannot_grow(left: ast.expr, right: ast.expr, kind: type[ast.operator]) -> bool:
    numbers = [isinstance(x, ast.Constant) and type(x.value) in (int, float) for x in (left, right)]
    if kind in (ast.Add, ast.Sub):
        return any(numbers)
    if kind is ast.Mod:
        return numbers[0]
    return kind is ast.Mult and any(isinstance(x, ast.Constant) and type(x.value) is float for x in (left, right))
