"""Crew: which of several lanes work, so that fast work stays in one of them and slow work holds nobody up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import trio

from picloud.types import AppId

FEW = 32
"""Handlers are slow where no more than so many fit into one batch."""


class Crew:
    """Lane 0 does all that is fast: others would only compete with it for the interpreter, and hold more claims.

    The others help while lane 0 is held up by one batch, or handlers are slow. An app that runs in all lanes but one
    gets nothing in the last: it is kept for others.
    """

    def __init__(self, size: int, *, patience: float, batch_size: Callable[[], int]) -> None:
        self.size = size
        self._patience = patience
        self._batch_size = batch_size
        self._idle: dict[int, trio.Event] = {}
        self._busy_since: dict[int, float] = {}
        self._apps: dict[int, frozenset[AppId]] = {}
        self._missed = False

    @property
    def is_idle(self) -> bool:
        """Whether no lane runs a batch."""
        return not self._busy_since

    def call(self) -> None:
        """Have one lane look for work: the first, else one that helps where help is needed."""
        if self._wake(0):
            return
        if self.needs_help():
            any(self._wake(number) for number in range(1, self.size))
        # what came while lane 0 was looking may be what it just did not find
        self._missed = True

    def call_all(self) -> None:
        """End every wait."""
        for number in range(self.size):
            self._wake(number)

    def needs_help(self) -> bool:
        """Whether lane 0 alone would let others wait."""
        now = trio.current_time()
        return self._batch_size() <= FEW or now - self._busy_since.get(0, now) >= self._patience

    async def wait(self, number: int) -> None:
        """Wait until lane `number` is called."""
        self._apps.pop(number, None)
        if number == 0 and self._missed:
            self._missed = False
            return
        called = self._idle[number] = trio.Event()
        try:
            await called.wait()
        finally:
            self._idle.pop(number, None)

    @contextmanager
    def running(self, number: int, apps: Iterable[AppId]) -> Iterator[None]:
        """Say that lane `number` runs a batch of `apps`."""
        self._busy_since[number] = trio.current_time()
        self._apps[number] = frozenset(apps)
        try:
            yield
        finally:
            # its apps stay noted until it finds no more: others that look meanwhile must not take its place
            del self._busy_since[number]

    def crowding(self, number: int) -> list[AppId]:
        """Return the apps that run in all the other lanes, where there are others."""
        if self.size == 1:
            return []
        lanes = Counter(app for other, apps in self._apps.items() if other != number for app in apps)
        return [app for app, count in lanes.items() if count >= self.size - 1]

    def _wake(self, number: int) -> bool:
        called = self._idle.pop(number, None)
        if called is not None:
            called.set()
        return called is not None
