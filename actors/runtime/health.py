"""Health: an actor says that it cannot do its work now, without dying of it."""

from __future__ import annotations

import time
from typing import Literal, NamedTuple

from picloud.actors.runtime.exits import describe_error

HealthState = Literal["ok", "degraded"]


class Health(NamedTuple):
    """What an actor says of itself.

    Units: `since` in seconds since the epoch: when this state began.
    """

    state: HealthState
    since: float
    error: str | None = None


class HealthGauge:
    """Holds an actor's health. Keep it as the actor's attribute `health`: the tree finds it there."""

    __slots__ = ("current",)

    def __init__(self) -> None:
        self.current = Health("ok", time.time())

    def ok(self) -> None:
        """Say that the work goes on; costs nothing when it already did."""
        if self.current.state != "ok":
            self.current = Health("ok", time.time())

    def degraded(self, error: BaseException | str) -> None:
        """Say that the work waits for the end of an outage; `since` stays that of its first error."""
        text = error if isinstance(error, str) else ": ".join(filter(None, describe_error(error)))
        since = self.current.since if self.current.state == "degraded" else time.time()
        self.current = Health("degraded", since, text)
