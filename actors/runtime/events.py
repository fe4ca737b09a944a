"""What happens to the children, as a stream: a bounded ring that never makes an actor wait."""

from __future__ import annotations

import time
from collections import deque
from typing import Literal, NamedTuple

import trio

from picloud.actors.runtime.exits import ExitReason
from picloud.actors.runtime.rfc3339 import format_time

EventKind = Literal["started", "exited", "restarting", "parked", "stopped", "lost"]
"""exited: ended unasked. stopped: ended because it was asked to. lost: the reader missed `missed` events."""


class Event(NamedTuple):
    """One thing that happened to a child.

    Units: `at` in seconds since the epoch, `delay` in seconds until the restart.
    """

    id: int
    kind: EventKind
    path: str
    at: float
    incarnation: int = 0
    reason: ExitReason | None = None
    error_type: str | None = None
    message: str | None = None
    delay: float | None = None
    missed: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the event as a dict of JSON values."""
        return self._asdict() | {"at": format_time(self.at)}


class EventStream:
    """The last `capacity` events. Ids count from 1 and never repeat in one process."""

    __slots__ = ("_readers", "_ring", "last_id")

    def __init__(self, capacity: int = 1024) -> None:
        self._ring: deque[Event] = deque(maxlen=capacity)
        self._readers = trio.lowlevel.ParkingLot()
        self.last_id = 0

    def emit(
        self,
        kind: EventKind,
        path: str,
        *,
        incarnation: int = 0,
        reason: ExitReason | None = None,
        error_type: str | None = None,
        message: str | None = None,
        delay: float | None = None,
    ) -> None:
        """Add an event and wake the readers; the oldest falls out of a full ring."""
        self.last_id += 1
        self._ring.append(Event(self.last_id, kind, path, time.time(), incarnation, reason, error_type, message, delay))
        if self._readers:
            self._readers.unpark_all()

    def subscribe(self, after: int | None = None) -> Subscription:
        """Return an async iterator over the events from now on, or over those after id `after`.

        An id this process has not given out yet comes from an earlier process: its reader gets all there is.
        """
        if after is None:
            after = self.last_id
        elif after > self.last_id:
            after = 0
        return Subscription(self, after)

    async def wait_after(self, seen: int) -> Event:
        """Return the first event after id `seen`, or the news that it is gone."""
        await trio.lowlevel.checkpoint()
        while self.last_id <= seen:
            await self._readers.park()
        oldest = self._ring[0].id
        if seen + 1 < oldest:
            return Event(oldest - 1, "lost", "", time.time(), missed=oldest - 1 - seen)
        return self._ring[seen + 1 - oldest]


class Subscription:
    """One reader's place in the stream. It holds no events, so a slow reader costs nothing but its own events."""

    __slots__ = ("_stream", "seen")

    def __init__(self, stream: EventStream, seen: int) -> None:
        self._stream = stream
        self.seen = seen
        """Id of the last event read: what a reader resumes from."""

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Event:
        event = await self._stream.wait_after(self.seen)
        self.seen = event.id
        return event
