"""`int | None` for scripts: a union of types, for isinstance() and issubclass(); nothing else can be read of it.

Types go by many names here: the functions that stand for `int` and its like, classes of the host, those of scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, NoneType
from typing import Any, ClassVar, Final

from picloud.engine.sandbox.class_model import ScriptClass
from picloud.engine.sandbox.stops import LimitError

MAX_MEMBERS: Final = 100
"""Of one union: isinstance() tries one after the other."""

STAND_INS: Final[dict[Any, str]] = {}
"""The functions that stand for types (`str`, `list`, …) and what they are called; filled by namespace."""


class KindUnion:
    """Some types, each once."""

    __slots__ = ("members",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, members: tuple[Any, ...]) -> None:
        if len(members) > MAX_MEMBERS:
            raise LimitError(f"a union of more than {MAX_MEMBERS} types")
        self.members = members

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KindUnion) and set(self.members) == set(other.members)

    def __hash__(self) -> int:
        return hash(frozenset(self.members))

    def _sandbox_repr_(self) -> str:
        return " | ".join([_name(member) for member in self.members])


def _name(kind: Any) -> str:
    return "None" if kind is None else STAND_INS.get(kind) or kind.__name__


_KINDS: Final = frozenset([type, ScriptClass, NoneType, KindUnion])


def _is_kind(value: object) -> bool:
    kind = type(value)
    return kind in _KINDS or (kind is FunctionType and value in STAND_INS)


def union_of(a: Any, b: Any) -> KindUnion | None:
    """Return `a | b` where both are types, of which one may be None; None for all else."""
    if (a is None and b is None) or not _is_kind(a) or not _is_kind(b):
        return None
    members = [one for side in (a, b) for one in (side.members if type(side) is KindUnion else (side,))]
    return KindUnion(tuple(dict.fromkeys(members)))


def real_kinds(union: KindUnion, real: Mapping[Any, type]) -> tuple[Any, ...]:
    """Return the classes that isinstance() takes."""
    return tuple([NoneType if member is None else real.get(member, member) for member in union.members])
