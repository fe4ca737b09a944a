"""Random scripts in the sandbox's grammar, made by type so that most of them run to their end.

A script tries each expression inside `attempt`, which turns an error into its type and text: so errors are compared
without ending the script. Only statements may end it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import contextmanager
from random import Random
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from script_expressions import CONSTANTS, LITERALS, TEMPLATES
from script_statements import (
    AUGMENTED,
    CHANGES,
    ECHOES,
    HEAD,
    NUMBERS,
    PATTERNS,
    SIGNATURES,
    SPECIAL,
    THING,
    UNPACKED,
)

HOLE: Final = re.compile(r"<([a-z]+)>")
VALUES: Final = (
    "int float bool str bytes ints strs nested table tuple set date delta decimal counter deque lists obj point any"
).split()
COMMON: Final = "int int int str str ints ints table float bool any obj".split()
EXPORTED: Final = "int str bool bytes ints strs nested table tuple date day decimal counter deque lists".split()
WRONG: Final = 0.015
"""Share of the holes that get a value of any type."""


class Scope:
    """The variables of one function: their types, and what is around it."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.own: dict[str, str] = {}
        self.parent = parent

    def names(self, kind: str) -> list[str]:
        own = [name for name, of in self.own.items() if of == kind or (kind == "any" and of != "set")]
        return own + (self.parent.names(kind) if self.parent else [])


class Writer:
    """Writes one script by the choices of `random`; without `texts` it looks at no text of an error that it caught."""

    def __init__(self, random: Random, *, texts: bool = True) -> None:
        self.random = random
        self.texts = texts
        self.lines: list[str] = []
        self.level = 0
        self.scope = Scope()
        self.calls: list[Callable[[], str]] = []
        self.made = 0

    # Text.

    def say(self, line: str) -> None:
        self.lines.append("    " * self.level + line)

    @contextmanager
    def block(self, head: str):
        self.say(head + ":")
        self.level += 1
        yield
        self.level -= 1

    def name(self, stem: str) -> str:
        self.made += 1
        return f"{stem}_{self.made}"

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def say_safely(self, line: str, otherwise: str = "") -> None:
        """Write a statement whose error mostly does not end the script."""
        if self.maybe(0.2):
            self.say(line)
            return
        with self.block("try"):
            self.say(line)
        with self.block("except Exception as error"):
            self.say("note(told(error))")
            if otherwise:
                self.say(otherwise)

    def maybe(self, share: float) -> bool:
        return self.random.random() < share

    # Expressions.

    def expression(self, kind: str, depth: int = 2) -> str:
        """Return an expression of that type: a name, a literal, or a template filled in."""
        if self.maybe(WRONG):
            kind = "any"
        names = self.scope.names(kind)
        if names and self.maybe(0.35):
            return self.random.choice(names)
        if kind == "any" and depth <= 0:
            kind = self.random.choice(VALUES[:-1])
        if kind in TEMPLATES and (depth > 0 or kind not in LITERALS):
            return self.fill(self.random.choice(TEMPLATES[kind]), depth - 1)
        return self.random.choice(LITERALS[kind])

    def fill(self, template: str, depth: int = 1) -> str:
        return HOLE.sub(lambda hole: self._hole(hole[1], depth), template)

    def _hole(self, kind: str, depth: int) -> str:
        if kind == "call":
            return self.random.choice(self.calls)() if self.calls else "copy_of(1)"
        if kind[0] == "v" and (kind[1:] in CONSTANTS or kind == "vany"):
            return self.random.choice(self.scope.names(kind[1:]) or [kind[1:].upper() if kind != "vany" else "INT"])
        text = self.expression(kind, depth)
        return f"({text})" if " " in text or text[0] in "-0123456789" else text

    # Statements.

    def statements(self, most: int, depth: int, *, keep: bool = False) -> None:
        """Write some; what they bind is used after them only with `keep`: a branch may not run."""
        before = dict(self.scope.own)
        for _ in range(self.random.randint(1, most)):
            simple = [self.assign, self.assign, self.augment, self.change, self.unpack, self.delete, self.check]
            nested = [self.condition, self.loop, self.loop, self.protect, self.match, self.closure]
            self.random.choice(simple if depth == 0 or self.maybe(0.55) else nested)(depth - 1)
        if not keep:
            self.scope.own = before

    def assign(self, depth: int) -> None:
        kind = self.random.choice(COMMON if self.maybe(0.7) else VALUES)
        value = self.expression(kind)
        own = [name for name, of in self.scope.own.items() if of == kind]
        name = self.random.choice(own) if own and self.maybe(0.4) else self.name(kind)
        instead = self.random.choice(LITERALS[kind]) if kind in LITERALS else "0"
        self.say_safely(f"{name}{self.pick('', '', ': int')} = {value}", f"{name} = {instead}")
        self.scope.own.setdefault(name, kind)

    def own(self, kind: str) -> str:
        """Return the name of a variable that may be assigned to."""
        names = [name for name, of in self.scope.own.items() if kind in (of, "any")]
        if names:
            return self.random.choice(names)
        kind = "int" if kind == "any" else kind
        name = self.name(kind)
        self.say(f"{name} = {self.random.choice(LITERALS[kind])}")
        self.scope.own[name] = kind
        return name

    def augment(self, depth: int) -> None:
        target, value = self.random.choice(AUGMENTED)
        target = HOLE.sub(lambda hole: self.own(hole[1]) if hole[1] in VALUES else self.expression(hole[1], 0), target)
        self.say_safely(f"{target} {self.fill(value)}")

    def change(self, depth: int) -> None:
        statement = self.random.choice(CHANGES)
        self.say_safely(HOLE.sub(lambda hole: self._hole(hole[1], 1), statement))

    def unpack(self, depth: int) -> None:
        target, value = self.random.choice(UNPACKED)
        names = [self.name("int"), self.name("int"), self.name("ints")]
        value = self.fill(value)
        self.say(f"{target.format(*names)} = {value}")
        for name in names:
            if name in target.format(*names):
                self.scope.own[name] = name.split("_")[0]

    def delete(self, depth: int) -> None:
        target = self.pick(
            "<ints>[0]", "<table>['a']", "<ints>[<index>:]", "<deque>[0]", "<counter>['a']", "<obj>.extra"
        )
        target = HOLE.sub(lambda hole: self.own(hole[1]) if hole[1] in VALUES else self.expression(hole[1], 0), target)
        with self.block("try"):
            self.say(f"del {target}")
        with self.block("except (LookupError, AttributeError) as error"):
            self.say("note(said(error, repr))")

    def check(self, depth: int) -> None:
        if self.maybe(0.1):
            self.say(f"assert {self.expression('bool')}, {self.expression('str', 1)}")
        else:
            self.say(f"note(attempt(lambda: {self.expression('any')}))")

    def condition(self, depth: int) -> None:
        with self.block(f"if {self.expression('bool')}"):
            self.statements(2, depth)
        if self.maybe(0.3):
            with self.block(f"elif (found := {self.expression('int', 1)})"):
                self.say("note(found)")
                self.statements(1, depth)
        if self.maybe(0.5):
            with self.block("else"):
                self.statements(2, depth)

    def loop(self, depth: int) -> None:
        number = self.name("int")
        if self.maybe(0.3):
            number = self.name("turn")  # not among the variables: nothing else may change it
            self.say(f"{number} = 0")
            head = f"while {number} < {self.random.randint(1, 4)}"
        else:
            head = self.pick(
                "for {0} in range({1})", "for {0} in {2}[:4]", "for {0}, item in enumerate({2}[:3])",
                "for key, {0} in sorted({3}.items())", "for {0}, *rest in {4}[:3]", "for {0} in islice({5}, 3)",
            )  # fmt: skip
            holes = [self._hole(kind, 1) for kind in ("small", "ints", "table", "nested", "iter")]
            head = head.format(number, *holes)
        if not head.startswith("while"):
            self.scope.own[number] = "int"
        with self.block(head):
            if head.startswith("while"):
                self.say(f"{number} += 1")
            if self.maybe(0.3):
                with self.block(f"if {self.expression('bool', 1)}"):
                    self.say(self.pick("break", "continue"))
            self.statements(2, depth)
        if not head.startswith("while"):
            self.scope.own.pop(number)
        if self.maybe(0.3):
            with self.block("else"):
                self.say(f"note({self.expression('str', 1)})")

    def protect(self, depth: int) -> None:
        with self.block("try"):
            self.statements(2, depth)
            if self.maybe(0.5):
                self.say(f"raise {self.expression('error', 1)}{self.pick('', '', ' from None', ' from KeyError(1)')}")
        handler = self.pick(
            "except Exception as error", "except (ValueError, LookupError) as error", "except Failed as error"
        )
        with self.block(handler):
            what = self.pick("said(error, repr)", "said(error, str)", "said(error, args_of)", "type(error).__name__")
            self.say(f"note({what})")
            if self.maybe(0.05):
                self.say(self.pick("raise", "raise RuntimeError('again') from error"))
        if "Exception" not in handler:
            # a limit must not be lost: plain Python knows none
            if self.maybe(0.1):
                with self.block("except"):
                    self.say("note('other')")
                    self.say("raise")
            else:
                with self.block("except Exception as error"):
                    self.say("note('other' if type(error).__name__ != 'LimitError' else 'LimitError')")
        if self.maybe(0.3):
            with self.block("else"):
                self.say("note('no error')")
        if self.maybe(0.4):
            with self.block("finally"):
                self.statements(1, 0)

    def match(self, depth: int) -> None:
        with self.block(f"match {self.expression('any')}"):
            for _ in range(self.random.randint(1, 4)):
                with self.block(f"case {self.random.choice(PATTERNS)}"):
                    self.say(f"note({self.random.randint(0, 99)})")
            with self.block("case whatever"):
                self.statements(1, depth)

    # Functions and classes.

    def closure(self, depth: int) -> None:
        """A function in a function, which changes a variable around it; and a call of it."""
        outer = self.own("int")
        name, x, by = self.name("inner"), self.name("x"), self.name("by")
        self.function(name, f"{x}, {by}=2, *rest", depth, first=f"nonlocal {outer}", last=f"{outer} += {x}")
        self.say(f"note(attempt(lambda: {name}({self.expression('int', 1)})))")
        self.say(f"{outer} = {name}({self.random.randint(0, 3)}, {self.random.randint(0, 3)})")

    def function(self, name: str, parameters: str, depth: int, *, first: str = "", last: str = "") -> None:
        outside = self.scope
        self.scope = Scope(outside)
        for parameter in re.findall(r"(?<![*\w])[a-z]\w*(?=[,=]|$)", parameters):
            self.scope.own[parameter] = "int"
        with self.block(f"def {name}({parameters})"):
            for line in (first, last):
                if line:
                    self.say(line)
            self.statements(2, depth, keep=True)
            self.say(f"return {self.expression('int')}")
        self.scope = outside

    def top_level_function(self) -> None:
        name = self.name("function")
        parameters, calls = self.random.choice(SIGNATURES)
        self.function(name, parameters, 1)
        wrong = [name + self.pick("()", "(1, 2, 3, 4, 5)", "(1, nothing=2)")]
        self.calls.append(lambda: self.fill(name + self.random.choice(calls)) if self.maybe(0.9) else wrong[0])

    def generators(self) -> None:
        """`numbers` and `echo`, which templates use."""
        self.function_lines("numbers(most)", NUMBERS)
        self.function_lines("echo(items)", ECHOES)

    def function_lines(self, head: str, bodies: tuple[str, ...]) -> None:
        with self.block(f"def {head}"):
            for line in self.random.choice(bodies).split("\n"):
                self.say(line)

    def classes(self) -> None:
        """`Thing`, `Other` that derives from it, and the dataclass `Point`."""
        with self.block("class Thing"):
            self.say(f"kinds = {self.pick('(int,)', 'ValueError', 'str', '(list, (dict, tuple))')}")
            for line in THING.split("\n"):
                self.say(line)
            self.special_methods(4)
        with self.block("class Other(Thing)"):
            with self.block("def __init__(self, value)"):
                self.say(self.pick("super().__init__(value + 1)", "self.value = value", "Thing.extra = value"))
            if self.maybe(0.5):
                with self.block("def method(self, x, by=1)"):
                    self.say("return super().method(x) + by")
            self.special_methods(2)
        self.say(self.pick("@dataclass", "@dataclass(order=True)", "@dataclass(frozen=True)", "@dataclass(eq=False)"))
        with self.block("class Point"):
            self.say("x: int")
            self.say(
                self.pick("y: int = 2", "y: list = field(default_factory=list)", "y: object = field(default=None)")
            )
            if self.maybe(0.3):
                self.say(self.pick("z: int = field(default=1, repr=False)", "z: int = field(default=1, compare=False)"))
            self.special_methods(1)
        self.say("OBJ = Thing(1)")
        self.say("POINT = Point(1)")

    def special_methods(self, most: int) -> None:
        for head, body in self.random.sample(SPECIAL, self.random.randint(0, most)):
            with self.block(f"def {head}"):
                self.say(body)

    # The whole.

    def script(self) -> str:
        """Return the source of a script."""
        self.lines.extend(HEAD.replace("TEXTS = True", f"TEXTS = {self.texts}").split("\n"))
        for kind, value in CONSTANTS.items():
            if kind not in ("obj", "point"):
                self.say(f"{kind.upper()} = {value}")
        self.generators()
        self.classes()
        for _ in range(self.random.randint(0, 2)):
            self.top_level_function()
        with self.block("def handle(event, ctx)"):
            self.scope = Scope()
            self.say("table_0, ints_0, str_0 = event.payload['table'], event.payload['ints'], event.payload['str']")
            self.scope.own |= {"table_0": "table", "ints_0": "ints", "str_0": "str"}
            for _ in range(self.random.randint(1, 5)):
                kind = self.random.choice(VALUES)
                name = self.name(kind)
                self.say(f"{name} = {self.expression(kind, 0)}")
                self.scope.own[name] = kind
            self.statements(6, 2, keep=True)
            tries = [f"attempt(lambda: shown({self.expression(self.random.choice(VALUES), 3)}))" for _ in range(6)]
            names = [f"attempt(lambda: shown({name}))" for name in self.scope.own]
            value = self.expression(self.random.choice(EXPORTED))
            self.say(f"return [{', '.join([*tries, *names, 'NOTES'])}, attempt(lambda: {value})]")
        return "\n".join(self.lines) + "\n"


def scripts(*, texts: bool) -> SearchStrategy[str]:
    """Return the strategy.

    Its randomness is seeded by Hypothesis, not drawn from it: drawn choices favour the extremes, and most such scripts
    fail at once or never end. The price is that a failing script is shown as it is, not shrunk.
    """
    return st.randoms(use_true_random=True).map(lambda random: Writer(random, texts=texts).script())
