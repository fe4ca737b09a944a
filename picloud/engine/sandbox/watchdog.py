"""One thread that looks at every running execution each 10 ms and stops the ones past a limit."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from picloud.engine.sandbox.limits import mib_text, seconds_text
from picloud.engine.sandbox.memory_probe import resident_bytes
from picloud.engine.sandbox.meter import Meter, set_current_meter
from picloud.engine.sandbox.stops import BudgetExceeded

P = ParamSpec("P")
T = TypeVar("T")

SHOT_AFTER = 0.25
"""Seconds that a stopped script has to reach a tick before an exception is raised in its thread."""
SHOT_EVERY = 0.05


class Watchdog:
    """Stop executions that pass their wall clock, CPU or memory growth; shoot those that do not react."""

    def __init__(self, period: float = 0.01) -> None:
        self.period = period
        """Seconds between two looks while anything runs."""
        self._seats: set[Seat] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def seat(self) -> Seat:
        """Return a seat for the calling thread: enter it once for a slice of executions."""
        return Seat(self)

    def close(self) -> None:
        """End the thread; executions that still run are no longer watched."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def add(self, seat: Seat) -> None:
        with self._changed:
            self._seats.add(seat)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="picloud-watchdog", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, seat: Seat) -> None:
        with self._changed:
            self._seats.discard(seat)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._seats and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
            # first: what has just woken this thread wants the interpreter for itself, and most runs are shorter
            time.sleep(self.period)
            with self._changed:
                seats = list(self._seats)
            self._look(seats)

    def _look(self, seats: list[Seat]) -> None:
        rss_bytes = resident_bytes()
        now = time.monotonic()
        for seat in seats:
            meter = seat.meter
            if meter is None or meter.finished:
                continue
            if meter.reason is None:
                reason = exceeded(seat, meter, now, rss_bytes)
                if reason is not None:
                    meter.stop(reason)
            elif not meter.in_sdk and now > meter.stopped_at + SHOT_AFTER + SHOT_EVERY * meter.shots:
                shoot(seat, meter)


def exceeded(seat: Seat, meter: Meter, now: float, rss_bytes: int) -> str | None:
    """Return why the execution must stop, or None. Memory and CPU count from the first look (at most 10 ms late)."""
    limits = meter.limits
    if now > meter.deadline:
        return f"ran past {seconds_text(limits.wall)}"
    if meter.rss_start_bytes is None:
        meter.rss_start_bytes = rss_bytes
    elif rss_bytes - meter.rss_start_bytes > limits.memory_growth_bytes:
        return f"the process grew by more than {mib_text(limits.memory_growth_bytes)} of memory"
    if limits.cpu is None or seat.cpu_clock is None or meter.in_sdk:
        return None
    try:
        cpu = time.clock_gettime(seat.cpu_clock)
    except OSError:  # the thread has ended
        return None
    if meter.cpu_start is None:
        meter.cpu_start = cpu
    elif cpu - meter.cpu_start > limits.cpu:
        return f"used more than {seconds_text(limits.cpu)} of CPU time"
    return None


def shoot(seat: Seat, meter: Meter) -> None:
    """Raise BudgetExceeded in the script's thread: the second line, for code without ticks and looping host code.

    The shot is announced before the seat is looked at again, so that Seat can wait for it to land and take it back.
    """
    meter.shots += 1
    if seat.meter is meter and not meter.in_sdk:
        set_async_exception(seat.thread_id, BudgetExceeded)
    meter.shots_done = meter.shots


def set_async_exception(thread_id: int, error: type[BaseException] | None) -> None:
    """Make the thread raise `error` at its next bytecode; None takes back one that was not raised yet."""
    argument = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), argument)


class Seat:
    """The place of one thread at the watchdog, for a slice of executions one after the other."""

    __slots__ = ("_watchdog", "cpu_clock", "meter", "thread_id")

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog
        self.meter: Meter | None = None
        self.thread_id = 0
        self.cpu_clock: int | None = None

    def __enter__(self) -> Self:
        self.thread_id = threading.get_ident()
        if hasattr(time, "pthread_getcpuclockid"):  # not on macOS
            self.cpu_clock = time.pthread_getcpuclockid(self.thread_id)
        self._watchdog.add(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._watchdog.remove(self)

    def run(self, meter: Meter, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` as one execution under `meter`; leave the thread clean, whatever happens.

        Raises: what `function` raises; BudgetExceeded also when it returned although it was stopped.
        """
        try:
            try:
                set_current_meter(meter)
                self.meter = meter
                value = function(*args, **kwargs)
            finally:
                self._leave(meter)
        except BudgetExceeded:
            self._leave(meter)  # the last shot may have hit _leave itself: shots are 50 ms apart, so not twice
            raise
        if meter.reason is not None:
            meter.fail()
        return value

    def _leave(self, meter: Meter) -> None:
        self.meter = None
        set_current_meter(None)
        meter.finish()
        while meter.shots != meter.shots_done:
            time.sleep(0)
        if meter.shots:
            set_async_exception(self.thread_id, None)
