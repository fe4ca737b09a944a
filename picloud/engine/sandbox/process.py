"""What the sandbox needs of the whole process."""

from __future__ import annotations

import faulthandler
import importlib.metadata
import sys
import threading
from types import TracebackType
from typing import Any

from picloud.engine.sandbox.reporting import SCRIPT_PREFIX

SWITCH_INTERVAL = 0.00025
"""Seconds: with it 16 spinning scripts delay the event loop by some 36 ms at worst, with twice as much by 67 ms; the
work done per second of CPU is the same (measured 2026-12)."""
THREAD_STACK_BYTES = 16 * 1024 * 1024
RESTRICTED_PYTHON_MAJOR = "9"


def prepare_process() -> None:
    """Set up the process once, before worker threads start. Raises: RuntimeError on another RestrictedPython."""
    version = importlib.metadata.version("RestrictedPython")
    if version.split(".")[0] != RESTRICTED_PYTHON_MAJOR:
        raise RuntimeError(f"RestrictedPython {version} is not supported: install {RESTRICTED_PYTHON_MAJOR}.x")
    sys.setswitchinterval(SWITCH_INTERVAL)
    threading.stack_size(THREAD_STACK_BYTES)
    if not isinstance(sys.unraisablehook, _QuietHook):
        sys.unraisablehook = _QuietHook(sys.unraisablehook)


class _QuietHook:
    """Leaves out what scripts' leftovers raise while they are collected: generators stopped at their next tick."""

    def __init__(self, otherwise: Any) -> None:
        self._otherwise = otherwise

    def __call__(self, unraisable: Any) -> None:
        if not _ends_in_script(unraisable.exc_traceback):
            self._otherwise(unraisable)


def _ends_in_script(trace: TracebackType | None) -> bool:
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(SCRIPT_PREFIX):
            return True
        trace = trace.tb_next
    return False


class HangGuard:
    """The last line: ends the process when the event loop was not heard of for `timeout` seconds.

    One C call of a script may hold the GIL for ever; a restart is better than a hang, and the queue survives it.
    """

    def __init__(self, timeout: float = 10.0) -> None:
        self.timeout = timeout

    def kick(self) -> None:
        """Say that the loop is alive: at least every third of the timeout. The first time arms it."""
        faulthandler.dump_traceback_later(self.timeout, exit=True)

    def close(self) -> None:
        """Disarm it."""
        faulthandler.cancel_dump_traceback_later()
