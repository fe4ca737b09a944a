"""What the source alone says about the type of an expression, and about the size of an integer.

A kind is a promise: whenever the expression has a value, it is of exactly this type and, for an integer, of at most
so many bits. What may be anything has no kind.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """An exact type."""

    type: type
    bits: float = math.inf
    """Of an integer: the most that it can have."""


Lookup = Callable[[str], Kind | None]

FEW_BITS: Final = 62
"""Products of such integers cost nothing."""
MAX_ROUNDS: Final = 24
"""Of looking at all bindings of a scope; in the order of the source a handful is enough."""
COUNTED_BITS: Final = 64
"""What so many additions as a computer can make add to the bits of what is added."""


class _Unseen:
    """The type of a name without any value yet."""


UNSEEN: Final = Kind(_Unseen, 0)
FLOAT: Final = Kind(float)
STR: Final = Kind(str)
LIST: Final = Kind(list)
BOOL: Final = Kind(bool)
LENGTH: Final = Kind(int, 64)
ATOMIC: Final = frozenset([int, float, str, bool, bytes, type(None)])

_DISPLAYS: Final[dict[type, Kind]] = {
    ast.List: LIST, ast.ListComp: LIST, ast.Dict: Kind(dict), ast.DictComp: Kind(dict), ast.Set: Kind(set),
    ast.SetComp: Kind(set), ast.Tuple: Kind(tuple), ast.JoinedStr: STR,
}  # fmt: skip
_BUILTIN_RESULTS: Final[dict[str, Kind]] = {
    "len": LENGTH, "ord": Kind(int, 32), "int": Kind(int), "float": FLOAT, "str": STR, "repr": STR, "list": LIST,
    "sorted": LIST, "dict": Kind(dict), "set": Kind(set), "tuple": Kind(tuple), "bool": BOOL, "isinstance": BOOL,
}  # fmt: skip
_TEXT_RESULTS: Final[dict[str, Kind]] = {
    **dict.fromkeys("upper lower title capitalize casefold swapcase strip lstrip rstrip replace join".split(), STR),
    **dict.fromkeys(["split", "splitlines"], LIST), **dict.fromkeys(["find", "count"], LENGTH),
    **dict.fromkeys(["startswith", "endswith"], BOOL),
}  # fmt: skip
_NUMBERS: Final = frozenset([int, float])
_FLOATING: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)


class Counted(ast.expr):
    """Stands for what a loop over `range(…)` or `enumerate(…)` counts with; no part of what is compiled."""

    def __init__(self, source: str, bounds: list[ast.expr]) -> None:
        super().__init__()
        self.source = source
        self.bounds = bounds


class Reader:
    """Tells kinds in one scope: `look_up` knows its names, `is_builtin` what still means what it means in Python."""

    def __init__(self, look_up: Lookup, is_builtin: Callable[[str], bool]) -> None:
        self._look_up = look_up
        self.is_builtin = is_builtin

    def kind_of(self, node: ast.expr) -> Kind | None:
        """Return the kind of an expression as the author wrote it."""
        if isinstance(node, ast.Constant):
            value = node.value
            return Kind(int, value.bit_length()) if type(value) is int else Kind(type(value))
        if isinstance(node, ast.Name):
            return self._look_up(node.id)
        display = _DISPLAYS.get(type(node))
        if display is not None:
            return display
        if isinstance(node, ast.BinOp):
            left, right = self.kind_of(node.left), self.kind_of(node.right)
            return None if left is None or right is None else kind_of_operation(node.op, left, right)
        if isinstance(node, ast.UnaryOp):
            return self._kind_of_unary(node)
        if isinstance(node, ast.IfExp):
            return join([self.kind_of(node.body), self.kind_of(node.orelse)])
        if isinstance(node, ast.Call):
            return self._kind_of_call(node)
        if isinstance(node, ast.Subscript):
            whole = self.kind_of(node.value)
            return whole if whole is UNSEEN or whole == STR else None
        return self._kind_of_counted(node) if isinstance(node, Counted) else None

    def _kind_of_counted(self, node: Counted) -> Kind | None:
        if not self.is_builtin(node.source):
            return None
        bounds = [self.kind_of(bound) for bound in node.bounds]
        # whatever the bounds are, what is counted is exactly int; a sum of two of them is one bit longer
        bits = [kind.bits if kind is not None and kind.type in (int, _Unseen) else math.inf for kind in bounds]
        return Kind(int, max(bits, default=0) + 1)

    def _kind_of_unary(self, node: ast.UnaryOp) -> Kind | None:
        if isinstance(node.op, ast.Not):
            return BOOL
        operand = self.kind_of(node.operand)
        number = operand is not None and operand.type in _NUMBERS and not isinstance(node.op, ast.Invert)
        return operand if number or operand is UNSEEN else None

    def _kind_of_call(self, node: ast.Call) -> Kind | None:
        function = node.func
        if isinstance(function, ast.Name):
            return _BUILTIN_RESULTS.get(function.id) if self.is_builtin(function.id) else None
        if isinstance(function, ast.Attribute) and function.attr in _TEXT_RESULTS:
            receiver = self.kind_of(function.value)
            return receiver if receiver is UNSEEN else _TEXT_RESULTS[function.attr] if receiver == STR else None
        return None


def kind_of_operation(operator: ast.operator, left: Kind, right: Kind) -> Kind | None:
    """Return the kind of a result, of numbers and texts."""
    if left is UNSEEN or right is UNSEEN:
        return UNSEEN
    kinds = left.type, right.type
    if kinds == (int, int):
        bits = _bits(operator, left.bits, right.bits)
        return FLOAT if isinstance(operator, ast.Div) else None if bits is None else Kind(int, bits)
    if float in kinds and _NUMBERS.issuperset(kinds) and isinstance(operator, _FLOATING):
        return FLOAT
    if kinds == (str, str) and isinstance(operator, ast.Add):
        return STR
    if left.type is str and isinstance(operator, ast.Mod):
        return STR
    if kinds == (list, list) and isinstance(operator, ast.Add):
        return LIST
    return None


def _bits(operator: ast.operator, left: float, right: float) -> float | None:
    match operator:
        case ast.Add() | ast.Sub():
            return max(left, right) + 1
        case ast.Mult():
            return left + right
        case ast.Mod():
            return right
        case ast.FloorDiv() | ast.RShift():
            return left + 1
        case ast.BitAnd() | ast.BitOr() | ast.BitXor():
            return max(left, right) + 1
    return None


def join(kinds: Iterable[Kind | None]) -> Kind | None:
    """Return what is true of a value that has one of these kinds."""
    found = UNSEEN
    for kind in kinds:
        if kind is UNSEEN:
            continue
        if kind is None or (found is not UNSEEN and kind.type is not found.type):
            return None
        found = kind if found is UNSEEN else Kind(kind.type, max(kind.bits, found.bits))
    return found


def solve(bindings: dict[str, list[ast.expr]], outer: Lookup, is_builtin: Callable[[str], bool]) -> dict[str, Kind]:
    """Return the kinds of names, from all that each of them is bound to.

    Starts from what would be true of no binding and gives up step by step what a binding contradicts: what is left
    holds for each of them. Where that takes too many steps, nothing is said.
    """
    kinds: dict[str, Kind | None] = dict.fromkeys(bindings, UNSEEN)
    reader = Reader(lambda name: kinds[name] if name in kinds else outer(name), is_builtin)
    for round_ in range(MAX_ROUNDS):
        changed = False
        for name, values in bindings.items():
            before = kinds[name]
            if before is None:
                continue
            found = join([_kind_of_binding(name, value, reader) for value in values])
            if found is not None and round_ > 2 and found.bits > before.bits and before is not UNSEEN:
                found = Kind(found.type)
            if found != before:
                kinds[name], changed = found, True
        if not changed:
            return {name: kind for name, kind in kinds.items() if kind is not None and kind is not UNSEEN}
    return {}


def _kind_of_binding(name: str, value: ast.expr, reader: Reader) -> Kind | None:
    """A sum that goes back to its own name grows by what is added, and only as often as it can be computed."""
    found = reader.kind_of(value)
    if found is None or found.type is not int or not isinstance(value, ast.BinOp):
        return found
    if isinstance(value.op, ast.Add | ast.Sub) and isinstance(value.left, ast.Name) and value.left.id == name:
        added = reader.kind_of(value.right)
        return Kind(int, added.bits + COUNTED_BITS) if added is not None else None
    return found
