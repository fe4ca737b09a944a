"""The sandbox: compiles and runs untrusted Python in the current thread.

Reader's map: `policy` and `expressions` say what a script may contain and where a guard stands; `kinds`, `scopes`,
`shortcuts` and `call_shortcuts` leave guards out where they have nothing to do; `instrument` puts the ticks, `binding`
the guards into the code; `compiler` ties them together. `namespace` is what a script finds at run time, `modules` what
it may import; `attributes`, `operators`, `sizes` and `text` are the guards. `meter`, `watchdog` and `stops` end what
runs for too long. `running`, `exporting` and `reporting` are the way in and out.
"""

from picloud.engine.sandbox.compiler import SDK_NAMES, CompileCache, CompiledScript, compile_script
from picloud.engine.sandbox.exporting import export_value
from picloud.engine.sandbox.facade import Facade
from picloud.engine.sandbox.limits import Limits
from picloud.engine.sandbox.meter import Meter, current_meter, escape_controls
from picloud.engine.sandbox.process import HangGuard, prepare_process
from picloud.engine.sandbox.reporting import (
    ScriptFrame,
    error_message,
    error_type,
    safe_repr,
    safe_str,
    script_frames,
    script_line,
)
from picloud.engine.sandbox.running import run_script
from picloud.engine.sandbox.stops import BudgetExceeded, EntryMissing, ExportError, LimitError
from picloud.engine.sandbox.watchdog import Seat, Watchdog

__all__ = [
    "SDK_NAMES",
    "BudgetExceeded",
    "CompileCache",
    "CompiledScript",
    "EntryMissing",
    "ExportError",
    "Facade",
    "HangGuard",
    "LimitError",
    "Limits",
    "Meter",
    "ScriptFrame",
    "Seat",
    "Watchdog",
    "compile_script",
    "current_meter",
    "error_message",
    "error_type",
    "escape_controls",
    "export_value",
    "prepare_process",
    "run_script",
    "safe_repr",
    "safe_str",
    "script_frames",
    "script_line",
]
