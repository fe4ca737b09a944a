"""Running: says which executions of this node run long, and stops those that somebody wants stopped."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import trio

from picloud.actors.runtime import HealthGauge, WakeMailbox
from picloud.db.running import CancelWish, OwnExecution
from picloud.engine import Cancel, Engine, QueueEvent, RunningExecution
from picloud.errors import DatabaseUnavailable

Publish = Callable[[Sequence[OwnExecution]], Awaitable[list[CancelWish]]]
"""Stores what runs here and returns which of it is to end."""


@dataclass(frozen=True, slots=True)
class RunningConfig:
    """Durations are seconds."""

    interval: float = 1.0
    """How often the node looks at what it runs; a wish to cancel is heard of sooner."""
    young: float = 0.5
    """Executions younger than this are not published: most are over before anybody could look at them."""
    most_shown: int = 20
    """In the tree."""


@dataclass(frozen=True, slots=True)
class Published:
    """What one look did."""

    running: int = 0
    cancelled: int = 0


class Running:
    """Publish what runs for longer than a moment, so that every node can show it and have it stopped.

    A node whose executions are all short asks the database nothing.
    """

    def __init__(self, engine: Engine, publish: Publish, wake: WakeMailbox, config: RunningConfig) -> None:
        self._engine = engine
        self._publish = publish
        self._config = config
        self._known = False
        self.mailbox = wake
        self.health = HealthGauge()
        self.last = Published()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Look at every interval and when woken; an outage is shown and tried again at the next tick."""
        task_status.started()
        while True:
            try:
                self.last = await self.look()
                self.health.ok()
            except DatabaseUnavailable as error:
                self.health.degraded(error)
            await self.mailbox.wait(timeout=self._config.interval)

    async def look(self) -> Published:
        """Publish what runs long and stop what is to be stopped."""
        now = time.time()
        old = [one for one in self._engine.running() if now - one.started_at >= self._config.young]
        if not old and not self._known:
            return Published()
        wishes = await self._publish([_describe(one, now) for one in old])
        self._known = bool(old)
        stopped = sum(self._engine.cancel(wish.id, Cancel(wish.by, wish.discards)) for wish in wishes)
        return Published(len(old), stopped)

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows."""
        running = sorted(self._engine.running(), key=lambda one: one.started_at)
        return {
            "running": len(running),
            "cancelled": self._engine.cancelled,
            "longest": [_show(one) for one in running[: self._config.most_shown]],
        }


def _describe(one: RunningExecution, now: float) -> OwnExecution:
    queue, message_id = find_message(one)
    return OwnExecution(
        one.id, one.job.app_id, one.job.script.name, one.job.event.source, queue, message_id, now - one.started_at
    )


def find_message(one: RunningExecution) -> tuple[str | None, str | None]:
    """Return the queue and the id of the message that is handled, if it is one."""
    event = one.job.event
    return (event.queue, event.message_id) if isinstance(event, QueueEvent) else (None, None)


def _show(one: RunningExecution) -> dict[str, object]:
    queue, message_id = find_message(one)
    return {
        "execution_id": str(one.id),
        "app": one.job.app_name,
        "script": one.job.script.name,
        "queue": queue,
        "message_id": message_id,
        "started_at": datetime.fromtimestamp(one.started_at, UTC).isoformat(timespec="milliseconds"),
    }
