"""Run a compiled script in the current thread, and bring its result out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from picloud.engine.sandbox.compiler import CompiledScript
from picloud.engine.sandbox.facade import Facade
from picloud.engine.sandbox.meter import Meter
from picloud.engine.sandbox.namespace import new_globals
from picloud.engine.sandbox.stops import EntryMissing


def run_script(
    compiled: CompiledScript,
    *,
    meter: Meter,
    entry: str = "handle",
    args: Sequence[object] = (),
    names: Mapping[str, object] | None = None,
    modules: Mapping[str, Facade] | None = None,
) -> Any:
    """Run the module's body in fresh globals, then `entry(*args)`; return its raw value.

    Raises: what the author's code raises, BudgetExceeded, EntryMissing.
    """
    scope = new_globals(names or {}, modules or {})
    meter.keep(scope)
    # set at the execution's end, not here: the text of an error may still run the script's own __str__
    FunctionType(compiled.code, scope, closure=(meter.new_cell(),))()
    function = scope.get(entry)
    if type(function) is not FunctionType:
        raise EntryMissing(f"script '{compiled.name}' defines no function {entry}(event, ctx)")
    value = function(*args)
    if meter.reason is not None:
        meter.fail()
    return value
