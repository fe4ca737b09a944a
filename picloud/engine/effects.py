"""The unit of work: what an execution asks for, kept until it has succeeded."""

from __future__ import annotations

from datetime import UTC, datetime

from picloud.types import MessageId, NewMessage


class UnitOfWork:
    """Messages in the order of their sending; a failed attempt takes its own back."""

    __slots__ = ("_by_dedup_key", "_committed", "_limit", "_messages")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._messages: list[NewMessage] = []
        self._committed = 0
        self._by_dedup_key: dict[tuple[str, str], int] | None = None

    def has_room(self, count: int) -> bool:
        """Say whether `count` more effects stay within the limit of an execution."""
        return len(self._messages) + self._committed + count <= self._limit

    def record(self, message: NewMessage) -> MessageId:
        """Keep a message; return its id, or that of an own earlier one with the same dedup key."""
        if message.dedup_key is not None:
            earlier = self._find_duplicate(message.queue_name, message.dedup_key)
            if earlier is not None:
                return earlier
        self._messages.append(message)
        return message.id

    def count_committed(self, count: int) -> None:
        """Count messages that were sent at once: the limit holds for them too."""
        self._committed += count

    def mark(self) -> int:
        """Return the point that `take_back` goes back to."""
        return len(self._messages)

    def take_back(self, mark: int) -> None:
        """Forget what was recorded since `mark`."""
        del self._messages[mark:]

    def count_waiting(self, queue_name: str) -> tuple[int, int]:
        """Return how many own messages go to a queue, and how many of those are due at once."""
        waiting = [message for message in self._messages if message.queue_name == queue_name]
        return len(waiting), sum(map(_is_due, waiting))

    def messages(self) -> tuple[NewMessage, ...]:
        return tuple(self._messages)

    def _find_duplicate(self, queue_name: str, dedup_key: str) -> MessageId | None:
        if self._by_dedup_key is None:
            self._by_dedup_key = {}
        key = (queue_name, dedup_key)
        at = self._by_dedup_key.get(key)
        # an index may be stale: taken back, and another message in its place
        if at is not None and at < len(self._messages):
            found = self._messages[at]
            if (found.queue_name, found.dedup_key) == key:
                return found.id
        self._by_dedup_key[key] = len(self._messages)
        return None


def _is_due(message: NewMessage) -> bool:
    if message.deliver_after is not None:
        return message.deliver_after <= datetime.now(UTC)
    return message.delay <= 0
