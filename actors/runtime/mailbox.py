"""A bounded mailbox that outlives its actor's incarnations, and knows the message in hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import trio

from picloud.actors.runtime.errors import AskTimeout, InvalidSpec, MailboxBusy, MailboxFull, MessageLost

T = TypeVar("T")
R = TypeVar("R")

YIELD_EVERY = 32
"""Messages between two full checkpoints: one costs 6 µs, a message without it 1 µs (2026-12-01)."""


class MailboxStatistics(NamedTuple):
    """Figures of a mailbox, by Trio's names."""

    current_buffer_used: int
    max_buffer_size: int
    tasks_waiting_send: int
    tasks_waiting_receive: int


class Reply(Generic[R]):
    """The way back to whoever asked. Answers to an asker that has gone are dropped."""

    __slots__ = ("_answered", "_error", "_value")

    def __init__(self) -> None:
        self._answered = trio.Event()
        self._error: BaseException | None = None
        self._value: R

    def send(self, value: R) -> None:
        """Answer; only the first answer counts."""
        if not self._answered.is_set():
            self._value = value
            self._answered.set()

    def fail(self, error: BaseException) -> None:
        """Answer with an error, which the asker's `ask` raises."""
        if not self._answered.is_set():
            self._error = error
            self._answered.set()

    async def wait(self) -> R:
        """Wait for the answer and return it, or raise its error."""
        await self._answered.wait()
        if self._error is not None:
            raise self._error
        return self._value


class Mailbox(Generic[T]):
    """Messages to one actor, in order.

    Keep it outside the incarnation, as an attribute of the actor: waiting messages stay when the actor restarts.
    The message in hand when it crashes or is cancelled is given to the next incarnation up to `redeliver` times, else
    it is lost: `on_lost` is called with it, and whoever asked gets MessageLost.
    """

    __slots__ = (
        "_asked",
        "_idle_statistics",
        "_is_idle",
        "_on_lost",
        "_reader",
        "_receiver",
        "_redeliver",
        "_returned",
        "_sender",
        "_turn",
    )

    def __init__(
        self, capacity: int, *, redeliver: int = 0, on_lost: Callable[[T, BaseException], None] | None = None
    ) -> None:
        if capacity < 0 or redeliver < 0:
            raise InvalidSpec("capacity and redeliver are numbers from 0")
        self._sender, self._receiver = trio.open_memory_channel[T](capacity)
        self._redeliver = redeliver
        self._returned: deque[tuple[T, int]] = deque()
        self._asked: dict[int, Reply[Any]] = {}
        self._turn = 0
        self._on_lost = on_lost
        self._reader: Inbox[T] | None = None
        self._is_idle = False
        self._idle_statistics = MailboxStatistics(0, capacity, 0, 1)

    async def send(self, message: T) -> None:
        """Put a message in; wait while there is no room."""
        await trio.lowlevel.checkpoint_if_cancelled()
        self._is_idle = False
        try:
            self._sender.send_nowait(message)
        except trio.WouldBlock:
            await self._sender.send(message)
        else:
            await self._take_turn()

    def send_nowait(self, message: T) -> None:
        """Put a message in.

        Raises: MailboxFull if there is no room.
        """
        self._is_idle = False
        try:
            self._sender.send_nowait(message)
        except trio.WouldBlock:
            capacity = self.statistics().max_buffer_size
            raise MailboxFull(f"the mailbox is full ({capacity} messages): send later, or wait with send") from None

    async def ask(self, make_message: Callable[[Reply[R]], T], *, timeout: float) -> R:
        """Send the message that `make_message` builds around a Reply; return the answer.

        Units: `timeout` in seconds, for room in the mailbox and the answer together.
        Raises: AskTimeout, MessageLost, or the error the actor answers with.
        """
        reply: Reply[R] = Reply()
        message = make_message(reply)
        self._asked[id(message)] = reply
        try:
            with trio.move_on_after(timeout):
                await self.send(message)
                return await reply.wait()
            raise AskTimeout(f"no answer in {timeout:g} s")
        finally:
            del self._asked[id(message)]

    @contextmanager
    def reading(self) -> Iterator[Inbox[T]]:
        """Read the mailbox for one incarnation: `with mailbox.reading() as inbox: async for message in inbox: …`.

        Raises: MailboxBusy if it is being read.
        """
        if self._reader is not None:
            raise MailboxBusy("another task reads this mailbox")
        self._reader = inbox = Inbox(self)
        try:
            yield inbox
        except BaseException as error:
            inbox.drop(error)
            raise
        finally:
            self._reader = None

    def statistics(self) -> MailboxStatistics:
        """Return the figures of the mailbox; a message given back counts as waiting."""
        if self._is_idle:
            # nothing came since the reader began to wait; Trio's own statistics cost 1.2 µs
            return self._idle_statistics
        now = self._receiver.statistics()
        return MailboxStatistics(
            now.current_buffer_used + len(self._returned),
            int(now.max_buffer_size),
            now.tasks_waiting_send,
            now.tasks_waiting_receive,
        )

    async def take(self) -> tuple[T, int]:
        """Wait for the next message; return it and how many incarnations had it in hand before. For the inbox alone."""
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._returned:
            return self._returned.popleft()
        try:
            message = self._receiver.receive_nowait()
        except trio.WouldBlock:
            return await self._wait_for_message(), 0
        await self._take_turn()
        return message, 0

    async def _wait_for_message(self) -> T:
        self._is_idle = True
        try:
            return await self._receiver.receive()
        finally:
            self._is_idle = False

    def give_back(self, message: T, tries: int, error: BaseException) -> None:
        """Keep a message whose incarnation ended for the next one, or report it lost. For the inbox alone."""
        if tries < self._redeliver:
            self._returned.append((message, tries + 1))
            return
        asker = self._asked.get(id(message))
        if asker is not None:
            lost = MessageLost("the actor ended with the question in hand")
            lost.__cause__ = error if isinstance(error, Exception) else None
            asker.fail(lost)
        if self._on_lost is not None:
            self._on_lost(message, error)

    async def _take_turn(self) -> None:
        """Let other tasks run now and then; the message is in or out already, so this cannot be cancelled any more."""
        self._turn += 1
        if self._turn % YIELD_EVERY == 0:
            await trio.lowlevel.cancel_shielded_checkpoint()


class Inbox(Generic[T]):
    """The reading end of a mailbox, held by one incarnation."""

    __slots__ = ("_in_hand", "_mailbox")

    def __init__(self, mailbox: Mailbox[T]) -> None:
        self._mailbox = mailbox
        self._in_hand: tuple[T, int] | None = None

    async def receive(self) -> T:
        """Wait for the next message; the one before counts as handled."""
        self._in_hand = None
        self._in_hand = taken = await self._mailbox.take()
        return taken[0]

    def __aiter__(self) -> Inbox[T]:
        return self

    async def __anext__(self) -> T:
        return await self.receive()

    def drop(self, error: BaseException) -> None:
        """Give the message in hand back: the incarnation ends without having handled it."""
        if self._in_hand is not None:
            (message, tries), self._in_hand = self._in_hand, None
            self._mailbox.give_back(message, tries, error)
