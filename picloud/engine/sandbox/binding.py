"""Puts guards, method tables and built-in functions into a script's code as constants.

As globals they would be looked up anew: every run has globals of its own, and CPython forgets what it has learned about
the globals of the last one. As constants they have no name that anything could bind, either. A constant of the syntax
tree cannot be any object, so a text stands for it until the code is compiled: it starts with a random token, which no
script can have known.
"""

from __future__ import annotations

import ast
import secrets
from collections.abc import Callable
from types import CodeType
from typing import Any

from picloud.engine.sandbox.syntax_tree import placed


class Binding:
    """The constants of one script; `find` returns the object of a name that is one, LookupError for any other."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        self._find = find
        self._token = secrets.token_hex(16)
        self._objects: dict[str, Any] = {}
        self._marks: dict[str, str | None] = {}

    def replace(self, node: ast.Name) -> ast.expr:
        """Return what stands for the name's object, or the name itself."""
        name = node.id
        if name not in self._marks:
            self._marks[name] = self._mark(name)
        mark = self._marks[name]
        return node if mark is None else placed(ast.Constant(mark), node)

    def _mark(self, name: str) -> str | None:
        try:
            found = self._find(name)
        except LookupError:
            return None
        mark = f"{self._token}:{name}"
        self._objects[mark] = found
        return mark

    def apply(self, code: CodeType) -> CodeType:
        """Return the code with the objects in their places."""
        return code.replace(co_consts=tuple([self._constant(value) for value in code.co_consts]))

    def _constant(self, value: object) -> object:
        if type(value) is CodeType:
            return self.apply(value)
        return self._objects.get(value, value) if type(value) is str else value
