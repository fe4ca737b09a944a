"""A mailbox for wake-ups alone: any number of wakes is one."""

from __future__ import annotations

import trio
from trio.lowlevel import Abort, RaiseCancelT, Task

from picloud.actors.runtime.errors import MailboxBusy
from picloud.actors.runtime.mailbox import MailboxStatistics


class WakeMailbox:
    """Tell one actor that there is something to do, as often as you like.

    A wake that finds nobody waiting is kept; it outlives the incarnation. Idle ones cost some 60 bytes each.
    """

    __slots__ = ("_awake", "_waiter")

    def __init__(self) -> None:
        self._awake = False
        self._waiter: Task | None = None

    def wake(self) -> None:
        """End the present wait, or the next; never blocks."""
        self._awake = True
        if self._waiter is not None:
            trio.lowlevel.reschedule(self._waiter)
            self._waiter = None

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait for a wake and clear it; return False if `timeout` seconds went by without one.

        Atomic: a wait that is cancelled or runs out of time leaves the wake for the next one.
        Raises: MailboxBusy if another task waits.
        """
        if self._waiter is not None:
            raise MailboxBusy("another task waits for the wake-ups of this mailbox")
        if self._awake:
            await trio.lowlevel.checkpoint()
        elif timeout is None:
            await self._sleep()
        else:
            with trio.move_on_after(timeout) as limit:
                await self._sleep()
            if limit.cancelled_caught:
                return False
        self._awake = False
        return True

    async def _sleep(self) -> None:
        self._waiter = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._abort)

    def _abort(self, _raise_cancel: RaiseCancelT) -> Abort:
        self._waiter = None
        return Abort.SUCCEEDED

    def statistics(self) -> MailboxStatistics:
        """Return the figures of a mailbox that holds one message at most."""
        return MailboxStatistics(int(self._awake), 1, 0, int(self._waiter is not None))
