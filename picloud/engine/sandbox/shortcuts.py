"""Ways around a guard's call, in the script's own bytecode: for operands of the types that the guard lets pass.

Every shortcut tests what the guard would test, on values that nothing can exchange in between (see `scopes`), and calls
the guard for all else. `_k_` holds a type and `_r_` a result: no code of a script runs between their setting and their
last use.
"""

from __future__ import annotations

import ast
from typing import Final

from picloud.engine.sandbox.kinds import ATOMIC, FEW_BITS, Kind
from picloud.engine.sandbox.limits import CHARGE_FROM
from picloud.engine.sandbox.scopes import Scopes
from picloud.engine.sandbox.syntax_tree import call, constant, copied, is_type, load, store

QUICK: Final = (1 << 30) - 1
"""CPython compares integers up to here in one specialised instruction."""
UNCHECKED_BITS: Final = 4096
"""Results that provably have no more bits than this need no guard."""
_INT, _FLOAT, _STR = "_int_", "_float_", "_str_"
_K, _R = "_k_", "_r_"
_NUMBER: Final = frozenset([int, float])
_BY_SMALL_NUMBER: Final = (ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.BitAnd)


class Shortcuts:
    """Builds shortcuts in the scope where the policy is; None where there is none."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    # Operands.

    def keep(self, value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """Return an expression to evaluate first, and one that gives the same value again."""
        if self._scopes.is_steady(value):
            return value, copied(value)
        name = self._scopes.temporary()
        return None if name is None else (ast.NamedExpr(store(name), value), load(name))

    # Operators.

    def operation(
        self,
        guard: str,
        operator: ast.operator,
        left: ast.expr,
        right: ast.expr,
        kinds: tuple[Kind | None, Kind | None],
    ) -> ast.expr | None:
        """`left <operator> right`, for which `guard` stands ready."""
        if not self._scopes.has_temporaries():
            return None
        if isinstance(operator, ast.Add):
            return self._sum(left, right, kinds)
        if is_small(kinds[1]) and self._scopes.is_steady(right) and isinstance(operator, _BY_SMALL_NUMBER):
            return self._with_small_number(guard, operator, left, right)
        if isinstance(operator, ast.Sub | ast.Mult):
            return self._of_two(guard, operator, left, right)
        return None

    def _sum(self, left: ast.expr, right: ast.expr, kinds: tuple[Kind | None, Kind | None]) -> ast.expr:
        """What a sum costs shows in its result."""
        total = ast.BinOp(left, ast.Add(), right)
        if all(kind is not None and kind.type is str for kind in kinds):
            return short_text(total)
        number = _either(kind_test(ast.NamedExpr(store(_R), total), _INT), kind_is(_FLOAT))
        return ast.IfExp(number, load(_R), call("_added_", load(_R)))

    def _with_small_number(
        self, guard: str, operator: ast.operator, left: ast.expr, right: ast.expr
    ) -> ast.expr | None:
        kept = self.keep(left)
        if kept is None:
            return None
        first, again = kept
        is_int: ast.expr = kind_test(first, _INT)
        if isinstance(operator, ast.Mult):
            is_int = _both(is_int, *_small(again))
        number = _either(is_int, kind_is(_FLOAT))
        return ast.IfExp(number, ast.BinOp(copied(again), operator, right), call(guard, copied(again), copied(right)))

    def _of_two(self, guard: str, operator: ast.operator, left: ast.expr, right: ast.expr) -> ast.expr | None:
        kept, kept_right = self.keep(left), self.keep(right)
        if kept is None or kept_right is None:
            return None
        (first, again), (second, again_right) = kept, kept_right
        same = ast.Compare(call("_type_", first), [ast.Is()], [_named_type(second)])
        quick: ast.expr = _both(same, _either(kind_is(_INT), kind_is(_FLOAT)))
        if isinstance(operator, ast.Mult):
            # a float times anything: no result of that is large
            integers = _both(same, kind_is(_INT), *_small(again), *_small(again_right))
            quick = _either(integers, kind_is(_FLOAT), is_type(copied(again), _FLOAT))
        plain = ast.BinOp(copied(again), operator, copied(again_right))
        return ast.IfExp(quick, plain, call(guard, copied(again), copied(again_right)))

    def change(
        self, sign: str, operator: ast.operator, target: ast.expr, value: ast.expr, kind: Kind | None
    ) -> ast.expr | None:
        """The new value of `target <sign>= value`; `target` is evaluated once and before `value`."""
        if not isinstance(operator, ast.Add | ast.Sub) or not self._scopes.has_temporaries():
            return None
        kept, kept_value = self.keep(target), self.keep(value)
        if kept is None or kept_value is None:
            return None
        (first, again), (second, again_value) = kept, kept_value
        if isinstance(value, ast.Constant) or (kind is not None and kind.type in _NUMBER and second is value):
            number = _either(kind_test(first, _INT), kind_is(_FLOAT))
        else:
            same = ast.Compare(call("_type_", first), [ast.Is()], [_named_type(second)])
            number = _both(same, _either(kind_is(_INT), kind_is(_FLOAT)))
        plain = ast.BinOp(copied(again), operator, copied(again_value))
        return ast.IfExp(number, plain, call("_augment_", constant(sign), copied(again), copied(again_value)))

    # Keys, comparisons, membership.

    def key(self, key: ast.expr, *, stored: bool) -> ast.expr | None:
        """A key that is no tuple needs no look at its parts; to be stored, it must be no slice either."""
        kept = self.keep(key)
        if kept is None:
            return None
        first, again = kept
        if stored:
            is_plain = ast.Compare(call("_type_", first), [ast.NotIn()], [load("_looked_at_")])
            return ast.IfExp(is_plain, copied(again), call("_newkey_", copied(again)))
        is_plain = ast.Compare(call("_type_", first), [ast.IsNot()], [load("_tuple_")])
        return ast.IfExp(is_plain, copied(again), call("_key_", copied(again)))

    def comparable(self, item: ast.expr) -> ast.expr | None:
        """A number or a text: comparing it goes nowhere."""
        if not self._scopes.has_temporaries():
            return None
        kept = self.keep(item)
        if kept is None:
            return None
        first, again = kept
        atom = _either(kind_test(first, _INT), kind_is(_STR), kind_is(_FLOAT))
        return ast.IfExp(atom, copied(again), call("_cmp_", copied(again)))

    def contains(self, item: ast.expr, container: ast.expr, *, cheap: bool) -> ast.expr | None:
        """`item in container` for a small number or a short text, which `cheap` says it is, and a builtin container."""
        if not self._scopes.has_temporaries() or not self._scopes.is_steady(container):
            return None
        sized = ast.Compare(call("_type_", copied(container)), [ast.In()], [load("_sized_types_")])
        if cheap and self._scopes.is_steady(item):
            plain = ast.Compare(copied(item), [ast.In()], [copied(container)])
            return ast.IfExp(sized, plain, call("_contains_", copied(item), container))
        kept = self.keep(item)
        if kept is None:
            return None
        first, again = kept
        short = _both(kind_is(_STR), less(call("_len_", copied(again)), 1000))
        plain = ast.Compare(copied(again), [ast.In()], [copied(container)])
        number = _both(kind_test(first, _INT), *_small(again))
        return ast.IfExp(_both(_either(number, short), sized), plain, call("_contains_", copied(again), container))


def is_atomic(kind: Kind | None) -> bool:
    """Whether a value of this kind holds no other values."""
    return kind is not None and kind.type in ATOMIC


def is_small(kind: Kind | None) -> bool:
    """Whether a value of this kind is an integer by which anything is divided at once."""
    return kind is not None and kind.type is int and kind.bits <= FEW_BITS


def needs_no_guard(operator: ast.operator, left: Kind | None, right: Kind | None) -> bool:
    """Whether what is known of both operands is enough: the guard would let every such pair pass."""
    if left is not None and left.type is float:
        # with a float the result is one, or an error
        return isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.Mod | ast.FloorDiv)
    if left is None or right is None or left.type is not int:
        return False
    if right.type is float:
        return isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.Mod | ast.FloorDiv)
    if right.type is not int:
        return False
    match operator:
        case ast.Add():
            return max(left.bits, right.bits) < UNCHECKED_BITS
        case ast.Mult():
            return left.bits + right.bits < UNCHECKED_BITS
        case ast.Mod() | ast.FloorDiv():
            return is_small(right)
    return isinstance(operator, ast.Sub | ast.BitAnd | ast.BitOr | ast.BitXor)


def short_text(text: ast.expr, limit: int = CHARGE_FROM) -> ast.expr:
    """A text, or a list of texts, that `_sized_` need not look at."""
    return ast.IfExp(less(call("_len_", ast.NamedExpr(store(_R), text)), limit), load(_R), call("_sized_", load(_R)))


def _named_type(value: ast.expr) -> ast.expr:
    return ast.NamedExpr(store(_K), call("_type_", value))


def kind_test(value: ast.expr, name: str) -> ast.expr:
    return ast.Compare(_named_type(value), [ast.Is()], [load(name)])


def kind_is(name: str) -> ast.expr:
    return ast.Compare(load(_K), [ast.Is()], [load(name)])


def less(value: ast.expr, limit: int) -> ast.expr:
    """`value < limit`."""
    return ast.Compare(value, [ast.Lt()], [constant(limit)])


def _small(value: ast.expr) -> tuple[ast.expr, ast.expr]:
    return less(copied(value), QUICK), ast.Compare(copied(value), [ast.Gt()], [constant(-QUICK)])


def _both(*tests: ast.expr) -> ast.expr:
    return ast.BoolOp(ast.And(), list(tests))


def _either(*tests: ast.expr) -> ast.expr:
    return ast.BoolOp(ast.Or(), list(tests))
