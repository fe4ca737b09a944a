"""Signals that end a program unwind it as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest
import trio

from picloud.signals import ending_as_ctrl_c, held_back

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    """What a program begins with."""
    before = {number: signal.getsignal(number) for number in ENDING}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("ctrl_c", [signal.default_int_handler, signal.SIG_IGN])
def test_each_unwinds_and_is_told_apart_by_its_code(number: int, code: int, ctrl_c: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, ctrl_c)
    with ending_as_ctrl_c() as ended, pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert ended.exit_code == code
    assert [signal.getsignal(one) for one in ENDING] == [ctrl_c, signal.SIG_DFL, signal.SIG_DFL]


def test_tasks_are_cancelled_before_it_is_raised() -> None:
    cleared = []

    async def wait(*, task_status: trio.TaskStatus[None]) -> None:
        try:
            task_status.started()
            await trio.sleep_forever()
        finally:
            cleared.append(True)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(wait)
            signal.raise_signal(signal.SIGTERM)
            await trio.sleep_forever()

    with ending_as_ctrl_c() as ended, pytest.RaisesGroup(KeyboardInterrupt):
        trio.run(main)
    assert (cleared, ended.exit_code) == ([True], 143)


def test_what_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with ending_as_ctrl_c():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_block_that_holds_them_back_is_finished_first() -> None:
    done = []

    def do() -> None:
        with held_back():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")
        done.append("more")

    with ending_as_ctrl_c() as ended, pytest.raises(KeyboardInterrupt):
        do()
    assert (done, ended.exit_code) == (["all of it"], 143)


def test_other_threads_leave_signals_alone() -> None:
    seen = []

    def look() -> None:
        with ending_as_ctrl_c(), held_back():
            seen.extend(signal.getsignal(number) for number in ENDING)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler, signal.SIG_DFL, signal.SIG_DFL]
