"""Where the compiler leaves a guard out or goes around it: the script must mean the same, and no limit may be lost."""

from __future__ import annotations

import ast
import gc
import threading
import time
from itertools import pairwise
from textwrap import dedent, indent
from typing import Any

import pytest
from sandbox_seat import run_metered

from picloud.engine.sandbox import LimitError, compile_script, run_script
from picloud.engine.sandbox.kinds import FLOAT, LIST, STR, Kind
from picloud.engine.sandbox.scopes import Scopes, all_nodes


def handler(body: str) -> str:
    """Return a script whose `handle` has this body; a whole script as it is."""
    return body if "def handle" in body else f"def handle(event, ctx):\n{indent(body, '    ')}"


def run(body: str) -> Any:
    """Run the body of a `handle` in the sandbox."""
    source = handler(body)
    return run_metered(lambda meter: run_script(compile_script(source, "s"), meter=meter, args=({}, None)))


def kinds_in(body: str) -> dict[str, Kind]:
    """Return the kinds of a function's names."""
    tree = ast.parse(f"def f(a):\n{indent(dedent(body).strip(), '    ')}")
    scopes = Scopes(all_nodes(tree), frozenset())
    with scopes.function(tree.body[0]):  # type: ignore[arg-type]
        return dict(scopes._stack[-1].kinds)


def test_kind_holds_for_every_binding_of_a_name() -> None:
    found = kinds_in(
        """
        items, text, mixed = [], "a", 1
        number = 2.5 * 3
        mixed = "b"
        text = text + "c"
        for i in range(len(items)):
            items = items + [i]
        """
    )
    assert found["items"] == LIST
    assert found["text"] == STR
    assert found["number"] == FLOAT
    assert found["i"].type is int
    assert "mixed" not in found


def test_integer_that_only_counts_is_small_and_one_that_multiplies_itself_is_not() -> None:
    found = kinds_in("at, x, y, z = 0, 1, 1, 3\nat += 1\nx = x * 2\ny = y + x\nz = (z * 31 + at) % 97")
    assert found["at"].bits < 100
    assert found["z"].bits < 10
    assert found["x"].bits == found["y"].bits == float("inf")


@pytest.mark.parametrize(
    "body",
    [
        "x = 1\nfor x in a:\n    pass",
        "x = 1\ndel x",
        "x = 1\n(x := a)",
        "x = 1\ntry:\n    pass\nexcept Exception as x:\n    pass",
        "x = 1\ndef g():\n    nonlocal x\n    x = a",
        "x = 1\nx, *y = a",
        "x = 1\nmatch a:\n    case {'k': x}:\n        pass",
        "x = 1\nmatch a:\n    case [*x]:\n        pass",
        "x = 1\nmatch a:\n    case {**x}:\n        pass",
        "x = 1\n[y for y in a if (x := y)]",
        "x = 1\nimport json as x",
        "x = 1\nclass x:\n    pass",
        "x = 1\n[x, y] = a",
        "x = 1\nfor i, (x, y) in a:\n    pass",
        "x = 1\nx += a",
        "global x\nx = 1",
        "len = a\nx = len(a)",
        "range = a\nfor x in range(3):\n    pass",
    ],
)
def test_name_that_something_else_may_bind_has_no_kind(body: str) -> None:
    assert "x" not in kinds_in(body)


def test_parameter_does_not_have_the_kind_of_a_name_of_the_module() -> None:
    tree = ast.parse("x = 1\ndef f(x):\n    y = x")
    scopes = Scopes(all_nodes(tree), frozenset())
    with scopes.function(tree.body[1]):  # type: ignore[arg-type]
        assert scopes.reader.kind_of(ast.Name("y", ast.Load())) is None


def test_kinds_are_not_looked_for_without_end() -> None:
    names = [f"x{i}" for i in range(1000)]
    forth = [f"{name} = {before} + 1" for before, name in pairwise(names)]
    assert len(kinds_in("\n".join(["x0 = 1", *forth]))) == 1000
    assert kinds_in("\n".join([*reversed(forth), "x0 = 1"])) == {}


def test_steady_names_are_those_of_the_function_itself() -> None:
    tree = ast.parse("def f(a):\n b = 1\n def g():\n  nonlocal b\n  b = c\n return a, b, c")
    scopes = Scopes(all_nodes(tree), frozenset())
    with scopes.function(tree.body[0]):  # type: ignore[arg-type]
        assert [scopes.is_steady(ast.Name(name, ast.Load())) for name in "abc"] == [True, False, False]


SAME = {
    "built-in functions as values": (
        "try:\n    raise KeyError('k')\nexcept (ValueError, KeyError):\n    x = [int, str, len][2]('abc')\n"
        "return [x, [f('1') for f in (int, str, float)], not len, int in {int: 1}, list(map(str, [1]))]"
    ),
    "built-in functions do not compute": (
        "r = []\nfor f in (lambda: len[0], lambda: len + len, lambda: len * 2, lambda: -len, lambda: len % (1,)):\n"
        "    try:\n        r.append(f())\n    except TypeError:\n        r.append('no')\nreturn r"
    ),
    "comprehension shadows": "x = 5\nfound = [x * 2 for x in ['a', 'b']]\nreturn [found, x * 2]",
    "comprehension in class": (
        "class A:\n    x = [1]\n    y = [x for x in x]\n    z = x + [len(y)]\nreturn [A.x, A.y, A.z]"
    ),
    "lambda's own": "x = 2\nf = lambda x: x + x\nreturn [f('a'), f([1]), f(1.5), x * x]",
    "default in a class": (
        "class A:\n    def f(self, a=[1] + [2], b='x' + 'y'):\n        return a + [b]\nreturn A().f()"
    ),
    "decorator": "def d(x):\n    return lambda f: f() + x\n@d('a' + 'b')\ndef g():\n    return 'c'\nreturn g",
    "augmented item": "d, k = {}, (1, 'a')\nd[k] = 1\nd[k] += 2\nd['t'] = 'a'\nd['t'] += 'b'\nreturn [d[k], d['t']]",
    "augmented list": "x = [1]\ny = x\nx += (2,)\nx *= 2\nreturn [x, y, x is y]",
    "augmented item once": "n = []\ndef c():\n    n.append(1)\n    return [0]\nc()[0] += 1\nreturn len(n)",
    "order": "n = []\ndef f(x):\n    n.append(x)\n    return x\nf(1) * f(2) - f(3) % f(4) + f(5)\nreturn n",
    "chained": "a, b, c = [1], [2], [3]\nreturn [a < b < c, a < b > c, 1 < 2.5 < 3]",
    "walrus moves": "x = 3\ny = x * (x := 4) + x\nz = [1]\nz.append((z := [2]))\nreturn [y, z]",
    "numbers": (
        "r = []\nfor a in (7, -7, 2.5, True):\n    for b in (3, -3, 0.5, True):\n"
        "        r.append([a + b, a - b, a * b, a % b, a // b, a < b, a in [b, 7]])\nreturn r"
    ),
    "huge": "x = 1 << 2000\ny = x * x\nreturn [str(y % 1000007), (x - y) < 0, y // x == x]",
    "texts": (
        "a = 'ab'\nb = a * 3 + a\n"
        "b += a\nreturn [b, a.upper() + b.title(), ' x '.strip(), 'a b'.split(), f'{a}{1}{2.5:.1f}']"
    ),
    "format": "n, f = 12345, 2.0\nreturn [f'{n}{f}{n:>8}{f:8.3f}{n!r}{[1]}{None}{True}{f:{n // 1000}.1f}{n:.1f}']",
    "enumerate": "r = []\nfor i, x in enumerate(['a'], start=5):\n    r.append(f'{i}{x}')\nreturn r",
    "set of tuples": (
        "s = set()\ns.add((1, 2))\nk = (1, 2)\nd = {k: 1}\nreturn [k in s, (1, 3) in s, d.get(k), d.get((9,), 0)]"
    ),
    "sets": "a, b = {1, 2, 3}, {2}\nreturn [sorted(a - b), sorted(a | b), sorted(a & b), sorted(a ^ b)]",
    "slice as key": (
        "class A:\n    def __getitem__(self, k):\n        return items[k]\n"
        "items = [1, 2, 3]\nreturn [A()[1:], A()[0], A()[::-1]]"
    ),
    "own methods": (
        "class A:\n    def append(self, x):\n        return ['own', x]\n    def get(self, x):\n        return x\n"
        "a, k = A(), 'k'\nb = [a.append(k), a.get(k), a.get((1, 2))]\nreturn b"
    ),
    "shadowed": "def f(len, set):\n    return [len([1]), set()]\nreturn f(lambda x: 'mine', lambda: 'mine too')",
    "deleted": "x = 1\ndel x\ntry:\n    x + 1\nexcept NameError:\n    return 'unbound'",
    "generator": (
        "def g():\n    x = 1\n    while x < 50:\n        y = yield x\n        x = x * 3 + (y or 0)\nreturn list(g())"
    ),
    "global counter": (
        "def handle(event, ctx):\n    bump()\n    bump()\n    return n * 2\n"
        "n = 1\ndef bump():\n    global n\n    n += 1\n"
    ),
    "module": (
        "R = {'a': 1}\nK = 'k' + 'l'\nT = [x * 2 for x in [1, 2]]\n"
        "def handle(event, ctx):\n    return [R.get('a'), K, T, R.get((1,), 0)]\n"
    ),
    "string compare": (
        "a, b = 'x', 'y'\nreturn [a < b, a == b, [a] == [b], (a, 1) < (b, 0), a in b, 'x' in a, b not in [a]]"
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_script_gives_what_python_gives(name: str) -> None:
    body = SAME[name]
    scope: dict[str, Any] = {}
    exec(handler(body), scope)
    assert run(body) == scope["handle"]({}, None)


@pytest.mark.parametrize(
    "body",
    [
        "x = 3\nwhile True:\n    x = x * x",
        "x = 3\nwhile True:\n    x *= x",
        "x, y = 3, 5\nwhile True:\n    x = y * x\n    y = x",
        "def f(x, y):\n    return x * y\nx = 3\nwhile True:\n    x = f(x, x)",
        "x = 7\nwhile True:\n    x = x * 1000003",
        "x = 'ab'\nwhile True:\n    x = x + x",
        "x = 'ab'\nwhile True:\n    x += x",
        "x = 'ab'\nwhile True:\n    x = f'{x}{x}'",
        "x = [1]\nwhile True:\n    x = x + x",
        "x = [1]\nwhile True:\n    x += x",
        "d, k = {'k': [1]}, 'k'\nwhile True:\n    d[k] += d[k]",
        "d, k = {'k': 'a'}, 'k'\nwhile True:\n    d[k] += d[k]",
        "x = 2\nreturn x ** 10000000",
        "x = 2\nreturn x << 10000000",
        "x, n = 'a', 100000000\nreturn x * n",
        "x, n = [0], 100000000\nreturn n * x",
        "f = 2.5\nreturn f'{f:99999.1f}'",
        "x = 'a%s'\nreturn x % ('b' * 3, ) * 100000000",
        "t = (1,)\nfor _ in range(200):\n    t = (t, t)\nd = {}\nd[t] = 1",
        "t = (1,)\nfor _ in range(200):\n    t = (t, t)\nd = {}\nd.get(t)",
        "t = (1,)\nfor _ in range(200):\n    t = (t, t)\nreturn t == t + ()",
        "t = (1,)\nfor _ in range(200):\n    t = (t, t)\nreturn t in [t]",
        "t = (1,)\nfor _ in range(200):\n    t = (t, t)\ns = set()\ns.add(t)",
        "t = (1,)\nfor _ in range(200):\n    t = (t, t)\nreturn {x: 1 for x in [t]}",
    ],
)
def test_limit_holds_where_a_guard_was_shortened(body: str) -> None:
    with pytest.raises(LimitError):
        run(body)


def test_what_is_kept_is_out_of_reach() -> None:
    with pytest.raises(NameError):
        run("x = 'a' + str(1)\nreturn [n for n in ['q'] if undefined]")
    for name in ("_1_", "_r_", "_k_"):
        with pytest.raises(Exception, match="reserved"):
            compile_script(f"def handle(event, ctx):\n    return {name}\n", "s")


def test_scripts_are_compiled_in_several_threads_at_once() -> None:
    """Once `AST constructor recursion depth mismatch`: CPython's converter of trees is not safe for threads."""
    body = "".join(f"    x{n} = [{{'a': (n, [{n}, {n} + 1])}} for n in range({n})]\n" for n in range(60))
    errors: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for n in range(15):
                compile_script(f"# {thread} {n}\ndef handle(event, ctx):\n{body}", "many")
        except BaseException as error:
            errors.append(error)

    def switch(phase: str, info: object) -> None:
        time.sleep(0)

    # a collection in the middle of a conversion runs Python code, and that lets the other threads in
    before = gc.get_threshold()
    gc.set_threshold(100)
    gc.callbacks.append(switch)
    try:
        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.callbacks.remove(switch)
        gc.set_threshold(*before)
    assert errors == []
