"""Shortcuts for calls of methods and for f-strings: the method itself, where its guard has nothing to look at."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Sequence
from functools import reduce
from typing import Final

from picloud.engine.sandbox.attributes import ATTRIBUTES, DIRECT
from picloud.engine.sandbox.kinds import Kind
from picloud.engine.sandbox.limits import CHARGE_FROM
from picloud.engine.sandbox.methods_of_texts import SPLIT_AT_ONCE
from picloud.engine.sandbox.shortcuts import Shortcuts, is_atomic, kind_is, kind_test, less, short_text
from picloud.engine.sandbox.syntax_tree import call, constant, copied, is_type, load, store

_KEYED: Final = frozenset(
    [
        (dict, "get"), (dict, "pop"), (dict, "setdefault"), (set, "add"), (set, "discard"), (set, "remove"),
        (str, "startswith"), (str, "endswith"),
    ]
)  # fmt: skip
"""Methods whose guard looks at their first argument only, and only at a tuple."""
_SHORT: Final = {
    **dict.fromkeys("upper lower title capitalize swapcase casefold strip lstrip rstrip".split(), CHARGE_FROM),
    "split": CHARGE_FROM // 8,
}
"""Methods of str whose guard looks at the size of their result only: without arguments; `split` of short texts."""
_USUAL: Final[dict[str, type]] = {
    **dict.fromkeys("append".split(), list),
    **dict.fromkeys("get items keys values setdefault".split(), dict),
    **dict.fromkeys(["add"], set),
    **dict.fromkeys([*_SHORT, "startswith", "endswith"], str),
}
"""The type that a method of this name is mostly called on."""
_NAMES: Final[dict[type, str]] = {list: "_list_", dict: "_dict_", set: "_set_", str: "_str_"}
_SPEC: Final = re.compile(r"[<>^+]?\d{0,2}(\.\d)?f")
"""Formats of a float that need no look at their widths."""
_DIGITS: Final = 40
"""Characters left for an integer of up to twice as many bits."""
_SHORT_NUMBER: Final = 100
"""Characters of a text that is read as a number."""
_FIELDS: Final = 20
"""Parts of an f-string that are looked at one by one."""

_MISSING: Final = object()


class CallShortcuts(Shortcuts):
    """What can be said shorter of calls."""

    def method(
        self, receiver: ast.expr, kind: Kind | None, name: str, node: ast.Call, kinds: Sequence[Kind | None]
    ) -> ast.expr | None:
        """`receiver.name(…)` as the author wrote it, where receiver and arguments are already guarded."""
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            return None
        atomic = not kinds or is_atomic(kinds[0])
        if kind is None:
            return self._on_usual(receiver, name, node, atomic)
        if (kind.type, name) not in _KEYED or atomic:
            return self._on_known(receiver, kind.type, name, node.args)
        rest = node.args[1:]
        if not isinstance(receiver, ast.Name) or not all(self._scopes.is_steady(a) or _is_fresh(a) for a in rest):
            return None
        kept = self.keep(node.args[0])
        if kept is None:
            return None
        first, again = kept
        args = [again, *rest]
        plain = ast.Call(ast.Attribute(receiver, name, ast.Load()), args, [])
        return ast.IfExp(_is_no_tuple(first), plain, self._by_table(*_twice(receiver), name, _copies(args), []))

    def _on_usual(self, receiver: ast.expr, name: str, node: ast.Call, atomic: bool) -> ast.expr | None:
        """The plain method if the receiver is what methods of this name are mostly called on."""
        usual = _USUAL.get(name)
        if usual is None or not all(map(self._scopes.is_steady, node.args)) or not self._scopes.has_temporaries():
            return None
        kept = self.keep(receiver)
        if kept is None:
            return None
        first, again = kept
        quick = self._on_known(copied(again), usual, name, node.args)
        if quick is None:
            return None
        test: ast.expr = is_type(first, _NAMES[usual])
        if (usual, name) in _KEYED and not atomic:
            test = ast.BoolOp(ast.And(), [test, _is_no_tuple(copied(node.args[0]))])
        return ast.IfExp(test, quick, self._by_table(*_twice(again), name, _copies(node.args), []))

    def _on_known(self, receiver: ast.expr, kind: type, name: str, args: list[ast.expr]) -> ast.expr | None:
        plain = ast.Call(ast.Attribute(receiver, name, ast.Load()), args, [])
        guard = ATTRIBUTES.get(kind, {}).get(name, _MISSING)
        if guard is DIRECT and callable(getattr(kind, name, None)):
            return plain
        if (kind, name) in _KEYED and args:
            return plain
        if kind is not str or name not in _SHORT or not self._scopes.has_temporaries():
            return None
        if name == "split":
            return self._split(receiver, plain)
        return None if args else short_text(plain, _SHORT[name])

    def _split(self, receiver: ast.expr, plain: ast.Call) -> ast.expr | None:
        """A long text is split in steps."""
        if not all(map(self._scopes.is_steady, (receiver, *plain.args))):
            return None
        short = less(call("_len_", copied(receiver)), SPLIT_AT_ONCE)
        guarded = self._by_table(*_twice(receiver), "split", _copies(plain.args), [])
        return ast.IfExp(short, short_text(plain, _SHORT["split"]), guarded)

    def fused(self, receiver: ast.expr, name: str, node: ast.Call) -> ast.expr | None:
        """`receiver.name(…)`: look-up and call in one step, by the table of that method."""
        if isinstance(receiver, ast.Name):
            return self._by_table(receiver, copied(receiver), name, node.args, node.keywords)
        kept = self.keep(receiver)
        return None if kept is None else self._by_table(*kept, name, node.args, node.keywords)

    def _by_table(
        self, first: ast.expr, again: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> ast.Call:
        """`(table[type(receiver)] or late_method(receiver, name))(receiver, …)`."""
        known = ast.Subscript(load(f"_m_{name}_"), call("_type_", first), ast.Load())
        late = call("_method_", copied(again), constant(name))
        return ast.Call(ast.BoolOp(ast.Or(), [known, late]), [again, *args], keywords)

    def number(self, kind: str, node: ast.Call, of: Kind | None) -> ast.expr | None:
        """`int(…)` and `float(…)` of one argument: of a short text there is nothing to look at."""
        if of is not None or not self._scopes.has_temporaries():
            return None
        kept = self.keep(node.args[0])
        if kept is None:
            return None
        first, again = kept
        short = ast.BoolOp(ast.And(), [is_type(first, "_str_"), less(call("_len_", copied(again)), _SHORT_NUMBER)])
        return ast.IfExp(short, call(f"_{kind}_", copied(again)), ast.Call(node.func, [copied(again)], []))

    def rounded(self, node: ast.Call) -> ast.expr | None:
        """`round(…, 2)`: of a float it is short."""
        starred = isinstance(node.args[0], ast.Starred)
        if starred or not isinstance(node.args[1], ast.Constant) or not self._scopes.has_temporaries():
            return None
        kept = self.keep(node.args[0])
        if kept is None:
            return None
        (first, again), places = kept, node.args[1]
        quick = call("_round_", copied(again), copied(places))
        return ast.IfExp(is_type(first, "_float_"), quick, ast.Call(node.func, [copied(again), places], []))

    # f-strings.

    def joined(self, parts: list[ast.expr], kinds: list[Kind | None]) -> ast.expr | None:
        """An f-string whose parts are short together; `parts` are constants and guarded fields."""
        if len(parts) > _FIELDS or not self._scopes.has_temporaries():
            return None
        lengths: list[ast.expr] = []
        pieces: list[ast.expr] = []
        values: list[ast.expr] = []
        room = CHARGE_FROM
        for part, kind in zip(parts, kinds, strict=True):
            if isinstance(part, ast.Constant):
                room -= len(str(part.value))
                pieces.append(part)
                values.append(copied(part))
            elif self._is_short_number(part, kind):
                room -= _DIGITS
                pieces.append(ast.FormattedValue(copied(part.args[0]), -1, None))  # type: ignore[attr-defined]
                values.append(part)
            else:
                name = self._scopes.temporary() or ""
                lengths.append(call("_len_", ast.NamedExpr(store(name), self._field(part, name))))
                pieces.append(ast.FormattedValue(load(name), -1, None))
                values.append(load(name))
        if not lengths or room <= 0:
            return None
        total = reduce(lambda sum_, length: ast.BinOp(sum_, ast.Add(), length), lengths)
        return ast.IfExp(less(total, room), ast.JoinedStr(pieces), call("_fstr_", *values))

    def _is_short_number(self, field: ast.expr, kind: Kind | None) -> bool:
        assert isinstance(field, ast.Call)
        few = kind is not None and kind.type is int and kind.bits <= 2 * _DIGITS
        return few and len(field.args) == 1 and self._scopes.is_steady(field.args[0])

    def _field(self, guarded: ast.expr, name: str) -> ast.expr:
        """The text of one field; `guarded` is its `_fmt_(…)`."""
        assert isinstance(guarded, ast.Call)
        value, *rest = guarded.args
        first = ast.NamedExpr(store(name), value)
        if not rest:
            number = ast.JoinedStr([ast.FormattedValue(load(name), -1, None)])
            other = ast.IfExp(kind_is("_int_"), number, call("_text_", load(name)))
            return ast.IfExp(kind_test(first, "_str_"), load(name), other)
        slow = call("_fmt_", load(name), *rest)
        conversion, spec = rest[0], rest[1] if len(rest) == 2 else None
        plain = isinstance(conversion, ast.Constant) and conversion.value == -1
        if plain and isinstance(spec, ast.Constant) and _SPEC.fullmatch(str(spec.value)):
            quick = ast.JoinedStr([ast.FormattedValue(load(name), -1, ast.JoinedStr([copied(spec)]))])
            return ast.IfExp(is_type(first, "_float_"), quick, slow)
        return guarded


def _is_fresh(value: ast.expr) -> bool:
    """Whether a value is an empty display: it may stand in both branches."""
    return (isinstance(value, ast.List) and not value.elts) or (isinstance(value, ast.Dict) and not value.keys)


def _is_no_tuple(value: ast.expr) -> ast.expr:
    return ast.Compare(call("_type_", value), [ast.IsNot()], [load("_tuple_")])


def _twice(value: ast.expr) -> tuple[ast.expr, ast.expr]:
    return copied(value), copied(value)


def _copies(values: list[ast.expr]) -> list[ast.expr]:
    return [copy.copy(value) if _is_fresh(value) else copied(value) for value in values]
