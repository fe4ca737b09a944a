"""What one execution has used, and the switch that stops it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CellType, TracebackType
from typing import Any, NoReturn

from picloud.engine.sandbox.limits import Limits, mib_text, seconds_text
from picloud.engine.sandbox.stops import BudgetExceeded

FINISHED = "the execution is finished"


class Meter:
    """One execution: its limits, its deadline, and how to stop it.

    A nested invoke runs under the meter of its caller. `stop` may be called from any thread, everything else belongs to
    the thread that runs the script.
    """

    __slots__ = (
        "_cells",
        "_line",
        "_on_line",
        "_scopes",
        "_wake",
        "allocated_bytes",
        "clock",
        "cpu_start",
        "deadline",
        "finished",
        "generators",
        "in_sdk",
        "limits",
        "lines_dropped",
        "output",
        "output_bytes",
        "randomness",
        "reason",
        "rss_start_bytes",
        "shots",
        "shots_done",
        "stopped_at",
    )  # fmt: skip

    def __init__(
        self, limits: Limits, *, deadline: float | None = None, on_line: Callable[[str], None] | None = None
    ) -> None:
        self.limits = limits
        latest = time.monotonic() + limits.wall
        self.deadline = latest if deadline is None or deadline > latest else deadline
        self.clock: Callable[[], float] = time.time
        """What the script sees as the time, in seconds since the epoch; limits go by the real one."""
        self.reason: str | None = None
        self.finished = False
        self.stopped_at = 0.0
        self.in_sdk = 0
        self.allocated_bytes = 0
        self.generators = 0
        """Those that are there now."""
        self.output: list[str] = []
        self.output_bytes = 0
        self.lines_dropped = 0
        self.randomness: Any = None
        """The generator of the module `random`."""
        self.cpu_start: float | None = None
        self.rss_start_bytes: int | None = None
        self.shots = 0
        self.shots_done = 0
        self._cells: list[CellType] = []
        self._scopes: list[dict[str, Any]] = []
        self._wake: threading.Event | None = None
        self._on_line = on_line
        self._line = ""

    # The switch.

    def stop(self, reason: str) -> None:
        """Stop the execution at its next tick; the first reason stays. Any thread may call this."""
        if self.reason is None:
            self.stopped_at = time.monotonic()
            self.reason = reason
        for cell in list(self._cells):
            cell.cell_contents = True
        if self._wake is not None:
            self._wake.set()

    def new_cell(self) -> CellType:
        """Return the stop flag of a fresh set of globals: the ticks of that code test it."""
        cell = CellType(False)
        self._cells.append(cell)
        if self.reason is not None or self.finished:
            cell.cell_contents = True
        return cell

    def keep(self, scope: dict[str, Any]) -> None:
        """Keep globals until the execution is finished."""
        self._scopes.append(scope)

    def finish(self) -> None:
        """End the execution: every piece of its code that is still referenced dies at its next tick.

        Globals are emptied: their functions refer to them, and a ring per execution would keep the collector busy
        (a third of all CPU time, measured 2026-12).
        """
        self.finished = True
        for cell in self._cells:
            cell.cell_contents = True
        self._cells.clear()
        if self._line:
            self._end_line()
        self._on_line = None
        while self._scopes:
            self._scopes.pop().clear()

    def fail(self) -> NoReturn:
        raise BudgetExceeded(self.reason or FINISHED)

    def check(self) -> None:
        """Raise BudgetExceeded when the execution was stopped, is over or is past its deadline."""
        if self.reason is not None or self.finished:
            self.fail()
        if time.monotonic() > self.deadline:
            self.stop(f"ran past {seconds_text(self.limits.wall)}")
            self.fail()

    def remaining(self) -> float:
        """Return the seconds until the deadline, never less than 0."""
        return max(0.0, self.deadline - time.monotonic())

    def sleep(self, seconds: float) -> None:
        """Sleep; end early with BudgetExceeded when the execution is stopped or its deadline comes first."""
        self.check()
        if self._wake is None:
            self._wake = threading.Event()
            if self.reason is not None:  # stopped between the check and the new event
                self.fail()
        self.in_sdk += 1
        try:
            self._wake.wait(min(max(0.0, seconds), self.remaining() + 0.001))
        finally:
            self.in_sdk -= 1
        self.check()

    def host(self) -> _Host:
        """Wrap the SDK's own work: no asynchronous exception in there, refused when the execution is over."""
        return _Host(self)

    @contextmanager
    def script(self) -> Iterator[None]:
        """Go back to script mode within `host`, for SDK code that calls the author's functions."""
        level, self.in_sdk = self.in_sdk, 0
        try:
            yield
        finally:
            self.in_sdk = level

    # What was used.

    def charge(self, size_bytes: int) -> None:
        """Count memory that was or will be allocated; stop the execution past its limit."""
        self.allocated_bytes += size_bytes
        if self.allocated_bytes > self.limits.memory_bytes:
            self.stop(f"allocated more than {mib_text(self.limits.memory_bytes)}")
        if self.reason is not None or self.finished:
            self.fail()

    def emit(self, text: str) -> None:
        """Add printed text to the output: whole lines, controls escaped, up to the log limits."""
        room = self.limits.log_bytes - self.output_bytes - len(self._line)
        if room <= 0 or len(self.output) >= self.limits.log_lines:
            self.lines_dropped += 1
            return
        *lines, rest = (self._line + text[: room + 1]).split("\n")
        for line in lines:
            self._line = line
            self._end_line()
        self._line = rest

    def _end_line(self) -> None:
        line, self._line = escape_controls(self._line), ""
        if len(self.output) >= self.limits.log_lines or self.output_bytes >= self.limits.log_bytes:
            self.lines_dropped += 1
            return
        self.output_bytes += len(line) + 1
        if self._on_line is None:
            self.output.append(line)
        else:
            self._on_line(line)


class _Host:
    """A class, since a generator takes twice the time: every call of the SDK enters one."""

    __slots__ = ("_meter",)

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __enter__(self) -> None:
        self._meter.check()
        self._meter.in_sdk += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._meter.in_sdk -= 1


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    9: "\t", 10: "\\n", 13: "\\r", 0x2028: "\\u2028", 0x2029: "\\u2029",
}  # fmt: skip


def escape_controls(text: str) -> str:
    """Make control characters visible: a logged text cannot start a line of its own or move a terminal's cursor."""
    return text if text.isprintable() else text.translate(_CONTROLS)


class _Thread(threading.local):
    meter: Meter | None = None


_thread = _Thread()


def current_meter() -> Meter:
    """Return the meter of the execution in this thread.

    Raises: BudgetExceeded when there is none, as for a generator that outlived its execution.
    """
    meter = _thread.meter
    if meter is None:
        raise BudgetExceeded(FINISHED)
    return meter


def set_current_meter(meter: Meter | None) -> None:
    _thread.meter = meter


def die() -> NoReturn:
    """End the script: what a tick calls when its flag is set."""
    meter = _thread.meter
    raise BudgetExceeded((meter.reason if meter is not None else None) or FINISHED)
