"""Signals that end a program: all unwind it as Ctrl-C does, so that what it started ends with it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

_OTHERS = (signal.SIGTERM, signal.SIGHUP)
_ENDING = (signal.SIGINT, *_OTHERS)


@dataclass(slots=True)
class Ended:
    """Which signal ended a program."""

    by: int = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """What a shell shows for a program that the signal ended: 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + self.by


@contextlib.contextmanager
def ending_as_ctrl_c() -> Iterator[Ended]:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt where Ctrl-C would; one that is ignored, as by nohup, stays so.

    Only in the main thread; elsewhere nothing changes.
    """
    ended = Ended()

    def end(number: int, frame: FrameType | None) -> None:
        ended.by = number
        # whoever took Ctrl-C over, as Trio does, knows where its exception may be raised
        signal.raise_signal(signal.SIGINT)

    with contextlib.ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            for number in _OTHERS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    stack.callback(signal.signal, number, signal.signal(number, end))
            if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
                # so a shell starts what it puts into the background; SIGTERM goes the same way and must not be lost
                stack.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        yield ended


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Let signals that would raise KeyboardInterrupt wait for the end of the block: it is not left half done.

    Only in the main thread: no other is interrupted by signals.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    taken = {number: handler for number, handler in before.items() if callable(handler)}
    for number in taken:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
