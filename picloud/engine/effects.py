"""The unit of work: what an execution asks for, kept until it has succeeded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from picloud.key_values import apply_write
from picloud.types import Effects, KvEntry, KvWrite, MessageId, NewInvocation, NewMessage

NO_EFFECTS = Effects()


class Mark(NamedTuple):
    """How much a unit of work held at one moment."""

    messages: int
    writes: int
    invocations: int


class UnitOfWork:
    """Effects in the order they were asked for; a failed attempt takes its own back."""

    __slots__ = ("_by_dedup_key", "_committed", "_invocations", "_limit", "_messages", "_read", "_writes")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._messages: list[NewMessage] = []
        self._writes: list[KvWrite] = []
        self._invocations: list[NewInvocation] = []
        self._committed = 0
        self._by_dedup_key: dict[tuple[str, str], int] | None = None
        self._read: dict[str, KvEntry] = {}

    def has_room(self, count: int) -> bool:
        """Say whether `count` more effects stay within the limit of an execution."""
        held = len(self._messages) + len(self._writes) + len(self._invocations)
        return held + self._committed + count <= self._limit

    def record(self, message: NewMessage) -> MessageId:
        """Keep a message; return its id, or that of an own earlier one with the same dedup key."""
        if message.dedup_key is not None:
            earlier = self._find_duplicate(message.queue_name, message.dedup_key)
            if earlier is not None:
                return earlier
        self._messages.append(message)
        return message.id

    def record_write(self, write: KvWrite) -> None:
        """Keep a change of a key."""
        self._writes.append(write)

    def record_invocation(self, invocation: NewInvocation) -> None:
        """Keep a script to run later."""
        self._invocations.append(invocation)

    def count_committed(self, count: int) -> None:
        """Count messages that were sent at once: the limit holds for them too."""
        self._committed += count

    def mark(self) -> Mark:
        """Return the point that `take_back` goes back to."""
        return Mark(len(self._messages), len(self._writes), len(self._invocations))

    def take_back(self, mark: Mark) -> None:
        """Forget what was recorded since `mark`."""
        del self._messages[mark.messages :]
        del self._writes[mark.writes :]
        del self._invocations[mark.invocations :]

    def count_waiting(self, queue_name: str) -> tuple[int, int]:
        """Return how many own messages go to a queue, and how many of those are due at once."""
        waiting = [message for message in self._messages if message.queue_name == queue_name]
        return len(waiting), sum(map(_is_due, waiting))

    def read_key(self, key: str, read: Callable[[str], KvEntry]) -> KvEntry:
        """Return a key as this execution sees it: read once, with its own changes on top.

        Shape: the version is that of what was read; a change has none before its commit.
        """
        entry = self._read.get(key)
        if entry is None:
            entry = self._read[key] = read(key)
        value = entry.value
        for write in self._writes:
            if write.key == key:
                value = apply_write(value, write)
        return KvEntry(value, entry.version)

    def changed_keys(self) -> dict[str, bool]:
        """Return the keys this execution wrote, and whether each is there now."""
        return {write.key: write.kind != "delete" for write in self._writes}

    def effects(self) -> Effects:
        """Return all that was asked for."""
        if not (self._messages or self._writes or self._invocations):
            return NO_EFFECTS
        return Effects(tuple(self._messages), tuple(self._writes), tuple(self._invocations))

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
