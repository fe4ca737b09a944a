"""What `queue` accepts, and what it says of the rest."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
from engine_harness import Harness, open_harness


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness(max_payload_bytes=2048) as harness:
        yield harness


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("enqueue('a b', 1)", "InvalidName: queue: invalid queue name 'a b'"),
        ("enqueue(5, 1)", "InvalidName: queue: invalid queue name of type int"),
        ("depth('')", "InvalidName: queue: invalid queue name ''"),
        ("depth_pending('/')", "InvalidName: queue: invalid queue name '/'"),
        ("enqueue('q', {'note': 'a\\0b'})", "InvalidPayload: queue: payload has a NUL character at payload.note"),
        (
            "enqueue('q', ['\\ud800'])",
            "InvalidPayload: queue: payload has a lone surrogate, which is not text at payload[0]",
        ),
        ("enqueue('q', {'x': [float('nan')]})", "InvalidPayload: queue: payload.x[0]"),
        ("enqueue('q', {'f': handle})", "InvalidPayload: queue: payload.f: 'function' object is not JSON"),
        ("enqueue('q', 'x' * 3000)", "PayloadTooLarge: queue: payload is 2.93 KiB, the limit is 2 KiB"),
        ("enqueue('q', 1, priority=12)", "InvalidInput: queue: priority must be a whole number from 0 to 9, not 12"),
        (
            "enqueue('q', 1, priority=True)",
            "InvalidInput: queue: priority must be a whole number from 0 to 9, not bool",
        ),
        (
            "enqueue('q', 1, max_attempts=0)",
            "InvalidInput: queue: max_attempts must be a whole number from 1 to 100, not 0",
        ),
        ("enqueue('q', 1, delay='soon')", "InvalidInput: queue: delay: cannot read 'soon' as a duration"),
        ("enqueue('q', 1, delay=-1)", "InvalidInput: queue: delay: -1 is out of range"),
        (
            "enqueue('q', 1, delay=1, deliver_after='2027-01-01')",
            "InvalidInput: queue: give delay or deliver_after, not both",
        ),
        ("enqueue('q', 1, deliver_after='tomorrow')", "InvalidInput: queue: deliver_after must be a time such as"),
        ("enqueue('q', 1, deliver_after='2027-01-01')", "InvalidInput: queue: deliver_after needs a time zone"),
        (
            "enqueue('q', 1, deliver_after=5)",
            "InvalidInput: queue: deliver_after must be a datetime or ISO text, not int",
        ),
        ("enqueue('q', 1, dedup_key='')", "InvalidInput: queue: dedup_key must be text of 1 to 255 characters"),
        ("enqueue('q', 1, dedup_key='a\\0')", "InvalidInput: queue: dedup_key has a NUL character"),
        ("enqueue('q', 1, immediate=1)", "InvalidInput: queue: immediate must be True or False, not int"),
        ("enqueue_many('q', 'abc')", "InvalidInput: queue: payloads must be a list, not str"),
    ],
)
def test_a_call_that_cannot_work_is_refused(harness: Harness, call: str, fault: str) -> None:
    assert harness.failure(f"def handle(event, ctx):\n    return queue.{call}").startswith(fault)
    assert harness.world.sent == []


def test_a_refusal_can_be_caught_and_leaves_the_rest(harness: Harness) -> None:
    outcome = harness.run(
        """
        def handle(event, ctx):
            queue.enqueue("q", 1)
            try:
                queue.enqueue("q", "\\0")
            except Exception as error:
                queue.enqueue("errors", str(error))
        """
    )
    assert [message.queue_name for message in outcome.messages] == ["q", "errors"]


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [("'30s'", 30.0), ("90", 90.0), ("0.5", 0.5), ("'1h30m'", 5400.0), ("timedelta(minutes=2)", 120.0)],
)
def test_delays_are_read_as_people_write_them(harness: Harness, delay: str, seconds: float) -> None:
    outcome = harness.run(
        f"from datetime import timedelta\ndef handle(event, ctx):\n    queue.enqueue('q', 1, delay={delay})"
    )
    assert [message.delay for message in outcome.messages] == [seconds]


@pytest.mark.parametrize("when", ["'2027-01-31T12:00:00Z'", "datetime(2027, 1, 31, 12, tzinfo=timezone.utc)"])
def test_a_delivery_time_may_be_text_or_a_datetime(harness: Harness, when: str) -> None:
    outcome = harness.run(
        f"from datetime import datetime, timezone\n"
        f"def handle(event, ctx):\n    queue.enqueue('q', 1, deliver_after={when})"
    )
    assert [message.deliver_after for message in outcome.messages] == [datetime.fromisoformat("2027-01-31T12:00:00Z")]


def test_documented_encodings_hold_for_payloads_too(harness: Harness) -> None:
    outcome = harness.run(
        """
        from datetime import date
        from decimal import Decimal
        def handle(event, ctx):
            queue.enqueue("q", {"day": date(2027, 1, 31), "price": Decimal("1.10"), "pair": (1, 2)})
        """
    )
    assert outcome.messages[0].payload == '{"day":"2027-01-31","price":"1.10","pair":[1,2]}'


def test_payloads_count_as_memory_of_the_execution() -> None:
    source = """
        def handle(event, ctx):
            text = "x" * 500000
            for n in range(100):
                queue.enqueue("q", text)
        """
    with open_harness(memory_bytes=8 << 20) as harness:
        assert harness.failure(source).startswith("BudgetExceeded: allocated more than 8 MiB")
