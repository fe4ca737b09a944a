"""Facade: a frozen namespace that stands for a module or an SDK object; the real one never reaches a script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn


class Facade:
    """Attributes that can be read and nothing else."""

    __slots__ = ("__dict__", "_name", "_offered")
    _name: str
    _offered: frozenset[str]

    def __init__(self, name: str, attributes: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_offered", frozenset(attributes))
        self.__dict__.update(attributes)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise TypeError("modules are read-only")

    def __delattr__(self, name: str) -> NoReturn:
        raise TypeError("modules are read-only")

    def __repr__(self) -> str:
        return f"<module '{self._name}'>"


def offered_names(facade: Facade) -> frozenset[str]:
    """Return what scripts may read of it and import from it."""
    return facade._offered
