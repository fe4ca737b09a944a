"""All that every script of every app can reach by allowed attributes does not change: nothing can be left there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

from picloud.engine.offering import respond
from picloud.engine.sandbox.attributes import ATTRIBUTES, CLASS_ATTRIBUTES, FUNCTION_ATTRIBUTES, get_attribute
from picloud.engine.sandbox.facade import Facade, offered_names
from picloud.engine.sandbox.modules import MODULES
from picloud.engine.sandbox.namespace import BUILTINS
from picloud.engine.sandbox.sizes import ATOMS

CHANGING = (list, dict, set, bytearray, deque, ModuleType)
FRESH = (MethodType, BuiltinFunctionType, MethodWrapperType)
"""What reading an attribute makes anew."""
TABLES = (ATTRIBUTES, CLASS_ATTRIBUTES, FUNCTION_ATTRIBUTES)
NAMES = sorted(
    {"__name__"}
    | {name for table in TABLES for names in table.values() for name in names}
    | {name for facade in MODULES.values() for name in offered_names(facade)}
)


def reachable(roots: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what a script reaches from here, each once, with the way there."""
    seen: dict[int, Any] = {}
    todo = list(roots.items())
    while todo:
        path, value = todo.pop()
        if id(value) in seen or type(value) in ATOMS or type(value) in FRESH:
            continue
        seen[id(value)] = value
        yield path, value
        for name in NAMES:
            try:
                todo.append((f"{path}.{name}", get_attribute(value, name)))
            except (AttributeError, TypeError):
                continue


def places(value: Any) -> list[Any]:
    """Return the value, and what its calls share: defaults, and what is closed over."""
    if type(value) is not FunctionType:
        return [value]
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return [value, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *cells]


def changing(roots: Mapping[str, Any]) -> list[str]:
    found = []
    for path, value in reachable(roots):
        if any(isinstance(place, CHANGING) for place in places(value)):
            found.append(path)
        try:
            BUILTINS["setattr"](value, "planted", 1)
        except (AttributeError, TypeError):
            continue
        found.append(f"{path} (takes attributes)")
    return found


def test_nothing_that_all_apps_reach_changes() -> None:
    roots = {**BUILTINS, **MODULES, "Response": respond}
    assert len(list(reachable(roots))) > 250
    assert changing(roots) == []


def test_the_walk_finds_what_changes() -> None:
    def keep(value: Any, kept: list[Any] = []) -> None:  # noqa: B006
        kept.append(value)

    assert changing({"m": Facade("m", {"dumps": Facade("inner", {"loads": []})})}) == ["m.dumps.loads"]
    assert changing({"m": Facade("m", {"dumps": keep})}) == ["m.dumps"]
