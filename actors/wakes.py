"""Wake-ups of one node: who waits for which queue, what is due when, and what the other nodes must hear."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast
from uuid import UUID

import trio

from picloud.actors.runtime import WakeMailbox
from picloud.db.messages import Sent
from picloud.db.wakeups import Changed
from picloud.types import AppId, NewMessage

OnSent = Callable[[AppId, Sequence[NewMessage], Sequence[Sent]], None]
"""To be called once messages of an app are committed, with what became of each."""

MAX_TIMERS = 100_000
"""Timers kept in memory; what does not fit is found by the poll."""


class QueueKey(NamedTuple):
    """A queue of an app: what wake-ups are addressed to."""

    app_id: AppId
    name: str

    def __str__(self) -> str:
        return f"{self.app_id}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> QueueKey:
        """Read what `str` wrote. Raises: ValueError."""
        app_id, _, name = text.partition("/")
        return cls(AppId(UUID(app_id)), name)


class QueueWakes:
    """Mailboxes and timers; they outlive every actor, so that a restart loses no wake-up."""

    def __init__(self) -> None:
        self._mailboxes: dict[QueueKey, WakeMailbox] = {}
        self._timers: list[tuple[float, QueueKey]] = []
        self._outgoing: set[QueueKey] = set()
        self._outgoing_changes: set[Changed] = set()
        self.is_urgent = False
        """Whether the other nodes must hear at once: there are messages that nobody here waits for."""
        self._watchers: dict[Changed, list[WakeMailbox]] = {}
        self.has_outgoing = WakeMailbox()
        self.timers_changed = WakeMailbox()

    def mailbox(self, key: QueueKey) -> WakeMailbox:
        """Return the queue's mailbox; the same one for every incarnation of its consumer."""
        return self._mailboxes.setdefault(key, WakeMailbox())

    def forget(self, key: QueueKey) -> None:
        """Drop the mailbox of a queue that has no consumer on this node any more."""
        self._mailboxes.pop(key, None)

    def wake(self, key: QueueKey) -> None:
        """Wake the queue's consumer, if this node runs one."""
        if mailbox := self._mailboxes.get(key):
            mailbox.wake()

    def wake_all(self) -> None:
        """Wake every consumer: after an outage nobody knows what was missed."""
        for mailbox in self._mailboxes.values():
            mailbox.wake()

    def wake_in(self, key: QueueKey, seconds: float) -> None:
        """Wake the queue's consumer when a message is due."""
        if seconds <= 0:
            self.wake(key)
        elif key in self._mailboxes and len(self._timers) < MAX_TIMERS:
            at = trio.current_time() + seconds
            heapq.heappush(self._timers, (at, key))
            if self._timers[0][0] == at:
                self.timers_changed.wake()

    def sent(self, key: QueueKey, due_in: float) -> None:
        """Note that a message was committed here: for this node's consumer and for the other nodes."""
        self.wake_in(key, due_in)
        if not self._outgoing:
            self.has_outgoing.wake()
        self._outgoing.add(key)
        self.is_urgent = self.is_urgent or key not in self._mailboxes

    def watch(self, *topics: Changed) -> WakeMailbox:
        """Return a mailbox that is woken when one of `topics` was changed, here or on another node."""
        mailbox = WakeMailbox()
        for what in topics:
            self._watchers.setdefault(what, []).append(mailbox)
        return mailbox

    def heard(self, what: str) -> None:
        """Wake those who watch what another node changed."""
        for mailbox in self._watchers.get(cast(Changed, what), ()):
            mailbox.wake()

    def changed(self, what: Changed) -> None:
        """Note that a change of triggers or scripts was committed here."""
        self.heard(what)
        self._outgoing_changes.add(what)
        self.has_outgoing.wake()

    def take_outgoing(self) -> tuple[set[QueueKey], set[Changed]]:
        """Return what the other nodes must hear of, once: queues with messages, and what was changed."""
        outgoing, self._outgoing = self._outgoing, set()
        changes, self._outgoing_changes = self._outgoing_changes, set()
        self.is_urgent = False
        return outgoing, changes

    def put_back(self, queues: set[QueueKey], changes: set[Changed]) -> None:
        """Keep what could not be told for the next try."""
        self._outgoing |= queues
        self._outgoing_changes |= changes
        self.has_outgoing.wake()

    def fire_timers(self) -> float | None:
        """Wake the consumers whose time has come; return in how many seconds the next one is due, if any."""
        now = trio.current_time()
        while self._timers and self._timers[0][0] <= now:
            self.wake(heapq.heappop(self._timers)[1])
        return self._timers[0][0] - now if self._timers else None

    @property
    def waiting(self) -> int:
        """How many queues have a mailbox on this node."""
        return len(self._mailboxes)

    @property
    def timers(self) -> int:
        """How many timers are set."""
        return len(self._timers)
