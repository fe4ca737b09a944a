"""What is searched or sorted item by item, because C code could not be stopped, comes out as in Python."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest
from sandbox_seat import run_metered

from picloud.engine.sandbox import compile_script, run_script

PRELUDE = """
from collections import Counter, deque
from decimal import Decimal
import uuid, math, itertools

class Point:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return isinstance(other, Point) and self.x == other.x
    def __lt__(self, other): return self.x < other.x

class Missing(KeyError):
    pass

class Told(Exception):
    def __repr__(self): return "told"

def attempt(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error)

nan = float("nan")
rows = [[1, 2], [3], [1, 2], [nan]]
"""
EXPRESSIONS = (
    "[[3] in rows, [4] in rows, rows[3] in rows, ([1, 2],) in [([1, 2],)], Point(1) in (Point(2), Point(1))]",
    "[rows.index([3]), rows.index([1, 2], 1), rows.index([1, 2], -2, 99), rows.count([1, 2]), rows.count([9])]",
    "[attempt(lambda: box.index([7])) for box in (rows, tuple(rows), deque(rows))]",
    "[attempt(lambda: box.remove([7])) for box in (rows, deque(rows))]",
    "[attempt(lambda: rows.index([3], 2)), attempt(lambda: rows.index([3], 0, -3)), attempt(lambda: rows.index(rows))]",
    "[(box.remove([1, 2]), list(box))[1][:2] for box in (list(rows), deque(rows))]",
    "[deque(rows).index([3], 1), deque(rows).count([1, 2]), tuple(rows).index([1, 2], 1), tuple(rows).count([3])]",
    "[[1] in {'a': [1]}.values(), [2] in {'a': [1]}.values(), 'x' in {'a': 'x'}.values(), (1, 2) in {1: 2}.items()]",
    "[Decimal(1) in [1, 2], Decimal('1.5') in [1, 2], [1, 1.0, True].count(Decimal(1)), Decimal(3) in range(5)]",
    "['b' * 2000 in ['a', 'b' * 2000], (1, 2) in [(1, 2)], (1, 2) in [[1, 2]], 2.5 in range(9), 2.0 in range(9)]",
    "[point.x for point in sorted([Point(3), Point(1), Point(2)])]",
    "[max([Point(3), Point(1)]).x, min(Point(3), Point(1)).x, sorted([[2, [1]], [1, [9]], [1, [3]]], key=lambda r: r)]",
    "[max([Decimal(1), 10 ** 100, 5]), min(Decimal(1), 10 ** 100, 5), sorted([10 ** 90, Decimal('1e95'), 3])]",
    "sorted([(1, [2]), (1, [1]), (0, [5])], key=lambda pair: (pair[0], pair[1]), reverse=True)",
    "[attempt(lambda: how(pair)) for how in (sorted, max, min) for pair in ([[1], 2], [2, [1]], [[1], ['']], [5, {}])]",
    "[Counter({'a': [2], 'b': [3]}).most_common(), Counter({'a': [2], 'b': [3]}).most_common(1)]",
    "[repr(Counter({'a': [2], 'b': [3]})), repr(Counter({'a': None, 'b': 1})), repr(Counter(x=1, y=2))]",
    "[math.hypot(3, 4), math.hypot(Decimal(3), 4), math.dist([1, Decimal(2)], [4, 6]), math.fsum([0.1, Decimal(2)])]",
    "[len(list(range(2 ** 70, 2 ** 70 + 3))), max(range(2 ** 70, 2 ** 70 + 3)), 2 ** 70 in range(2 ** 70, 2 ** 71)]",
    "[[key, len(list(group))] for key, group in itertools.groupby([[1], [1], [2]])]",
    "[str(Missing('a')), repr(Missing('a')), str(Told(1)), repr(Told(1)), str(Missing()), f'{Missing(1, 2)}']",
    "attempt(lambda: Told(1).nothing)[0]",
)


def run_in_sandbox(source: str) -> Any:
    compiled = compile_script(source, "searching")
    return run_metered(lambda meter: plain(run_script(compiled, meter=meter, args=({}, None))))


def run_plainly(source: str) -> Any:
    scope: dict[str, Any] = {}
    exec(source, scope)
    return plain(scope["handle"]({}, None))


def plain(value: Any) -> Any:
    return repr(value)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_comes_out_as_in_python(expression: str) -> None:
    source = f"{PRELUDE}\ndef handle(event, ctx):\n{indent(f'return {expression}', '    ')}\n"
    assert run_in_sandbox(source) == run_plainly(source)
