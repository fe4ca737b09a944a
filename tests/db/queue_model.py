"""What the queue's statements do, in memory: the simplest thing that could be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

LATER = 1_000_000
"""Added to the moment of a message that is not due: an hour, in the model's time, in which each statement takes one."""


@dataclass
class Held:
    """A message, claimed or not."""

    id: UUID
    queue: str
    priority: int
    at: int
    max_attempts: int
    dedup: str | None
    group: str | None
    attempt: int = 0
    token: UUID | None = None
    expired: bool = False

    @property
    def due(self) -> bool:
        return self.at < LATER


@dataclass
class Dead:
    """A dead letter."""

    was: Held
    reason: str
    replayed: bool = False


@dataclass
class QueueModel:
    """One app's queues."""

    attempts: dict[str, int]
    """The triggers' attempts; 3 where a queue has none."""
    fifo: frozenset[str]
    at_most: dict[str, int]
    """The queues' `max_in_flight`."""
    messages: dict[UUID, Held] = field(default_factory=dict)
    dead: dict[UUID, Dead] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    done: int = 0
    """Units that were committed: each counted one key up and left one invocation."""
    now: int = 0

    def tick(self) -> None:
        """Let one statement pass: the database's clock goes on."""
        self.now += 1

    def send(
        self,
        message_id: UUID,
        queue: str,
        *,
        priority: int = 0,
        later: bool = False,
        max_attempts: int | None = None,
        dedup: str | None = None,
        group: str | None = None,
    ) -> tuple[UUID, bool]:
        """Return the id, and whether it is new."""
        for other in self.messages.values():
            if dedup is not None and (other.queue, other.dedup) == (queue, dedup):
                return other.id, False
        self.messages[message_id] = Held(
            message_id,
            queue,
            priority,
            self.now + (LATER if later else 0),
            max_attempts or self.attempts.get(queue, 3),
            dedup,
            "" if queue in self.fifo else group,
        )
        return message_id, True

    def settle(self, token: UUID, ids: Iterable[UUID]) -> list[UUID]:
        """Acknowledge; return those whose lease was held."""
        held = self.held(token, ids)
        for message_id in held:
            del self.messages[message_id]
        return held

    def held(self, token: UUID, ids: Iterable[UUID]) -> list[UUID]:
        return [i for i in ids if i in self.messages and self.messages[i].token == token]

    def claim(self, queue: str, token: UUID, limit: int) -> list[UUID]:
        """Return what is claimed, in ready order."""
        if queue in self.at_most:
            limit = min(limit, self.at_most[queue] - sum(m.token is not None for m in self.of(queue)))
        ready = sorted(filter(self._claimable, self.of(queue)), key=lambda m: (-m.priority, m.at, m.id))
        claimed = [] if queue in self.paused else ready[: max(0, limit)]
        for message in claimed:
            message.token, message.expired = token, False
            message.attempt += 1
        return [message.id for message in claimed]

    def of(self, queue: str) -> list[Held]:
        return [m for m in self.messages.values() if m.queue == queue]

    def _claimable(self, message: Held) -> bool:
        if message.token is not None or not message.due:
            return False
        return message.group is None or not any(self._goes_before(other, message) for other in self.of(message.queue))

    @staticmethod
    def _goes_before(other: Held, message: Held) -> bool:
        if other.group != message.group:
            return False
        return other.token is not None or (other.id < message.id and (other.attempt > 0 or other.due))

    def give_back(self, message: Held, *, later: bool = False) -> None:
        message.token, message.at = None, self.now + (LATER if later else 0)

    def bury(self, message: Held, reason: str) -> None:
        del self.messages[message.id]
        self.dead[message.id] = Dead(message, reason)

    def reclaim(self) -> tuple[int, int]:
        """Return how many came back, and how many died."""
        expired = [m for m in self.messages.values() if m.token is not None and m.expired]
        for message in expired:
            if message.attempt >= message.max_attempts:
                self.bury(message, "lease_expired")
            else:
                self.give_back(message)
        died = sum(m.id in self.dead for m in expired)
        return len(expired) - died, died

    def an_hour_passes(self) -> None:
        for message in self.messages.values():
            if not message.due:
                message.at -= LATER

    def replayable(self) -> list[UUID]:
        """Oldest first."""
        return sorted(i for i, dead in self.dead.items() if not dead.replayed)

    def replay(self, dead_id: UUID, message_id: UUID) -> None:
        dead = self.dead[dead_id]
        dead.replayed = True
        was = dead.was
        self.send(message_id, was.queue, priority=was.priority, max_attempts=was.max_attempts, group=was.group)

    def purge(self, queue: str, state: str) -> int:
        doomed = [m for m in self.of(queue) if m.token is None and (state == "all" or m.due == (state == "ready"))]
        for message in doomed:
            del self.messages[message.id]
        return len(doomed)

    def counts(self, queue: str) -> tuple[int, int, int, int]:
        """(ready, delayed, claimed, dead)"""
        mine = self.of(queue)
        claimed = sum(m.token is not None for m in mine)
        ready = sum(m.token is None and m.due for m in mine)
        dead = sum(d.was.queue == queue and not d.replayed for d in self.dead.values())
        return ready, len(mine) - claimed - ready, claimed, dead

    def rows(self) -> Sequence[tuple[object, ...]]:
        """Every message as the database should have it, in the order of its moments."""
        return [
            (m.id, m.queue, m.priority, m.attempt, m.max_attempts, m.token, not m.due, m.dedup, m.group)
            for m in sorted(self.messages.values(), key=lambda m: (m.at, m.id))
        ]
