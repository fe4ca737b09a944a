"""The mailbox, the message in hand, asking, and the mailbox for wake-ups."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from runtime_probes import Boom, running
from trio.testing import MockClock, assert_checkpoints, wait_all_tasks_blocked

from picloud.actors.runtime import (
    AskTimeout,
    ChildSpec,
    InvalidSpec,
    Mailbox,
    MailboxBusy,
    MailboxFull,
    MessageLost,
    Reply,
    Supervisor,
    WakeMailbox,
)


async def test_messages_arrive_in_order(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[int](3)

    async def send() -> None:
        for number in range(200):
            await mailbox.send(number)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        with mailbox.reading() as inbox:
            assert [await inbox.receive() for _ in range(200)] == list(range(200))


async def test_full_mailbox_makes_send_wait_and_send_nowait_refuse(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[str](2)
    await mailbox.send("1")
    mailbox.send_nowait("2")
    with pytest.raises(MailboxFull, match=r"full \(2 messages\)"):
        mailbox.send_nowait("3")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.send, "3")
        await wait_all_tasks_blocked()
        assert mailbox.statistics() == (2, 2, 1, 0)
        with mailbox.reading() as inbox:
            assert [await inbox.receive() for _ in range(3)] == ["1", "2", "3"]


async def test_cancelled_sender_sends_nothing_and_cancelled_receiver_loses_nothing(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[int](2)
    with trio.CancelScope() as scope:
        scope.cancel()
        await mailbox.send(1)
    assert mailbox.statistics().current_buffer_used == 0
    mailbox.send_nowait(2)
    with mailbox.reading() as inbox:
        with trio.CancelScope() as scope:
            scope.cancel()
            await inbox.receive()
        assert mailbox.statistics().current_buffer_used == 1


async def test_busy_sender_lets_other_tasks_run(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[int](1000)
    ran = trio.Event()

    async def run_meanwhile() -> None:
        ran.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_meanwhile)
        for number in range(100):
            await mailbox.send(number)
        assert ran.is_set()


async def test_mailbox_has_one_reader_at_a_time(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[int](1)
    with mailbox.reading(), pytest.raises(MailboxBusy), mailbox.reading():
        pass
    with mailbox.reading():
        pass


@pytest.mark.parametrize("settings", [{"capacity": -1}, {"capacity": 1, "redeliver": -1}])
def test_mailbox_that_cannot_work_is_refused(settings: dict[str, int]) -> None:
    with pytest.raises(InvalidSpec):
        Mailbox(**settings)


class Counter:
    """An actor that crashes on a message called poison."""

    def __init__(self, redeliver: int) -> None:
        self.lost: list[tuple[str, BaseException]] = []
        self.mailbox = Mailbox[str](
            10, redeliver=redeliver, on_lost=lambda message, error: self.lost.append((message, error))
        )
        self.taken: list[str] = []
        self.handled: list[str] = []

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        with self.mailbox.reading() as inbox:
            task_status.started()
            async for message in inbox:
                self.taken.append(message)
                if message == "poison":
                    raise Boom("poisoned")
                if message == "slow":
                    await trio.sleep_forever()
                self.handled.append(message)


@pytest.mark.parametrize("redeliver", [0, 2])
async def test_message_in_hand_of_a_crash_is_redelivered_then_lost_and_the_waiting_ones_stay(
    redeliver: int, autojump_clock: MockClock
) -> None:
    actor = Counter(redeliver)
    async with running(Supervisor("root", [ChildSpec("a", actor.run)])):
        for message in ("1", "poison", "2"):
            await actor.mailbox.send(message)
        await wait_all_tasks_blocked()
    assert actor.handled == ["1", "2"]
    assert actor.taken == ["1", *["poison"] * (redeliver + 1), "2"]
    assert [(message, type(error)) for message, error in actor.lost] == [("poison", Boom)]


async def test_message_in_hand_of_a_cancelled_incarnation_waits_for_the_next(autojump_clock: MockClock) -> None:
    actor = Counter(redeliver=1)
    supervisor = Supervisor("root", [ChildSpec("a", actor.run)])
    async with running(supervisor):
        await actor.mailbox.send("slow")
        await wait_all_tasks_blocked()
        await supervisor.terminate_child("a")
        assert actor.mailbox.statistics().current_buffer_used == 1
    assert actor.lost == []


async def test_block_that_ends_without_an_error_has_handled_its_message(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[int](2, redeliver=1)
    mailbox.send_nowait(1)
    with mailbox.reading() as inbox:
        await inbox.receive()
    assert mailbox.statistics().current_buffer_used == 0


Question = tuple[str, Reply[int]]


async def answer(mailbox: Mailbox[Question], act: Callable[[Reply[int]], None]) -> None:
    with mailbox.reading() as inbox:
        async for _, reply in inbox:
            await trio.sleep(1)
            act(reply)


async def test_ask_returns_the_answer(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[Question](1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer, mailbox, lambda reply: reply.send(42))
        assert await mailbox.ask(lambda reply: ("depth", reply), timeout=2.0) == 42
        nursery.cancel_scope.cancel()


async def test_ask_raises_the_error_that_is_the_answer(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[Question](1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer, mailbox, lambda reply: reply.fail(KeyError("queue")))
        with pytest.raises(KeyError, match="queue"):
            await mailbox.ask(lambda reply: ("depth", reply), timeout=2.0)
        nursery.cancel_scope.cancel()


async def test_ask_gives_up_at_its_deadline_and_a_late_answer_goes_nowhere(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[Question](0)
    with pytest.raises(AskTimeout, match="no answer in 5 s"):
        await mailbox.ask(lambda reply: ("nobody reads", reply), timeout=5.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer, mailbox, lambda reply: reply.send(1))
        with pytest.raises(AskTimeout):
            await mailbox.ask(lambda reply: ("too slow", reply), timeout=0.5)
        await trio.sleep(2)
        assert await mailbox.ask(lambda reply: ("in time", reply), timeout=1.5) == 1
        nursery.cancel_scope.cancel()


async def test_only_the_first_answer_counts(autojump_clock: MockClock) -> None:
    reply = Reply[int]()
    reply.send(1)
    reply.send(2)
    reply.fail(Boom())
    assert await reply.wait() == 1


async def test_asker_learns_that_its_question_was_lost(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[Question](1)

    async def crash(*, task_status: trio.TaskStatus[None]) -> None:
        with mailbox.reading() as inbox:
            task_status.started()
            await inbox.receive()
            raise Boom("with the question in hand")

    async with running(Supervisor("root", [ChildSpec("a", crash)])):
        with pytest.raises(MessageLost) as caught:
            await mailbox.ask(lambda reply: ("depth", reply), timeout=5.0)
    assert isinstance(caught.value.__cause__, Boom)


# Wake-ups


async def test_any_number_of_wakes_is_one(autojump_clock: MockClock) -> None:
    mailbox = WakeMailbox()
    for _ in range(5):
        mailbox.wake()
    assert mailbox.statistics() == (1, 1, 0, 0)
    assert await mailbox.wait() is True
    assert await mailbox.wait(timeout=1.0) is False
    assert trio.current_time() == pytest.approx(1)


async def test_wakes_of_a_waiting_actor_are_one(autojump_clock: MockClock) -> None:
    mailbox, rounds = WakeMailbox(), []

    async def count() -> None:
        while True:
            await mailbox.wait()
            rounds.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        await wait_all_tasks_blocked()
        assert mailbox.statistics().tasks_waiting_receive == 1
        mailbox.wake()
        mailbox.wake()
        await wait_all_tasks_blocked()
        assert len(rounds) == 1
        mailbox.wake()
        await wait_all_tasks_blocked()
        assert len(rounds) == 2
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("timeout", [None, 1.0])
async def test_cancelled_wait_does_not_eat_a_wake(timeout: float | None, autojump_clock: MockClock) -> None:
    mailbox = WakeMailbox()
    with trio.move_on_after(0.5) as scope:
        await mailbox.wait(timeout)
    assert scope.cancelled_caught
    mailbox.wake()
    with trio.CancelScope() as scope:
        scope.cancel()
        await mailbox.wait(timeout)
    assert mailbox.statistics().current_buffer_used == 1
    assert await mailbox.wait(timeout=0) is True


async def test_second_waiter_is_refused(autojump_clock: MockClock) -> None:
    mailbox = WakeMailbox()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.wait)
        await wait_all_tasks_blocked()
        with pytest.raises(MailboxBusy):
            await mailbox.wait()
        mailbox.wake()


async def test_waiting_always_is_a_checkpoint(autojump_clock: MockClock) -> None:
    mailbox = WakeMailbox()
    mailbox.wake()
    with assert_checkpoints():
        await mailbox.wait()
