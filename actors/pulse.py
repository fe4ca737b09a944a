"""Pulse: shows how late the event loop is, and ends a process whose loop does not turn any more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import trio


class Guard(Protocol):
    """Ends the process when it is not kicked in time."""

    def kick(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PulseConfig:
    """Durations are seconds."""

    interval: float = 0.25
    window: float = 60.0
    """How long the worst delay is remembered, at least."""


class Pulse:
    """Wake at an interval, note how late that was, and kick the guard.

    One C call of a script may hold the interpreter for ever: a restart is better than a hang; the queues survive it.
    """

    def __init__(
        self, guard: Guard | None, config: PulseConfig, clock: Callable[[], float] = trio.current_time
    ) -> None:
        self._guard = guard
        self._config = config
        self._clock = clock
        self.last_ms = 0.0
        self._worst_ms = (0.0, 0.0)
        """Of this window and of the one before."""
        self._window_began = 0.0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Beat until cancelled; the guard is off from then on."""
        self._window_began = self._clock()
        task_status.started()
        try:
            while True:
                if self._guard is not None:
                    self._guard.kick()
                due = self._clock() + self._config.interval
                await trio.sleep_until(due)
                self.beat(max(0.0, self._clock() - due) * 1000)
        finally:
            if self._guard is not None:
                self._guard.close()

    def beat(self, late_ms: float) -> None:
        """Note how late the loop was."""
        self.last_ms = late_ms
        this, before = self._worst_ms
        if self._clock() - self._window_began > self._config.window:
            self._window_began, this, before = self._clock(), 0.0, this
        self._worst_ms = (max(this, late_ms), before)

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        return {"late_ms": round(self.last_ms, 1), "worst_late_ms": round(max(self._worst_ms), 1)}
