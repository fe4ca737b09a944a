"""What a handler is given, and what it may return."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from engine_harness import Harness, open_harness, queue_event

from picloud.engine import (
    CronEvent,
    DeadLetterEvent,
    EmailEvent,
    HttpEvent,
    InvokeEvent,
    QueueEvent,
    build_event,
)
from picloud.engine.event_forms import event_from_json
from picloud.errors import InvalidInput
from picloud.mail_event import make_event
from picloud.mail_parsing import parse_mail
from picloud.testing import email_event
from picloud.types import ExecutionId


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness() as harness:
        yield harness


def test_a_queue_event_reads_by_attribute_and_by_subscript(harness: Harness) -> None:
    value = harness.value(
        """
        def handle(event, ctx):
            return [event.payload["a"], event["payload"]["a"], event.source, event["op"], event.queue, event.attempt,
                    event["max_attempts"], event.message_id, event.enqueued_at, event.get("no", 5), event.get("queue")]
        """,
        {"a": 1},
    )
    assert value == [1, 1, "queue", "receive", "orders", 1, 3, "m-1", "2026-12-01T12:00:00+00:00", 5, "orders"]


def test_an_event_has_no_other_names(harness: Harness) -> None:
    assert harness.failure("def handle(event, ctx):\n    return event['get']").startswith("KeyError")
    assert harness.failure("def handle(event, ctx):\n    return event.names").startswith("AttributeError")


def test_an_event_cannot_be_changed(harness: Harness) -> None:
    assert not harness.run("def handle(event, ctx):\n    setattr(event, 'payload', 1)").ok


@pytest.mark.parametrize(
    ("event", "read"),
    [
        (InvokeEvent({"a": 1}, "main"), "[event.source, event.body, event.caller]"),
        (HttpEvent("GET", "/x", {"id": "7"}, {"q": "1"}, {"accept": "*/*"}, None, b""), "[event.source, event.path]"),
        (CronEvent(datetime(2026, 1, 1, tzinfo=UTC), None), "[event.source, event.scheduled_for]"),
        (DeadLetterEvent("d-1", {"payload": 1}, {"type": "X"}, 3), "[event.source, event.original, event.attempts]"),
    ],
)
def test_every_source_has_its_record(harness: Harness, event: object, read: str) -> None:
    value = harness.value(f"def handle(event, ctx):\n    return {read}", event=event)
    assert value[0] == event.source  # type: ignore[attr-defined]


def test_the_context_tells_who_runs(harness: Harness) -> None:
    root = ExecutionId(uuid4())
    outcome = harness.run(
        """
        def handle(event, ctx):
            return {"app": ctx.app, "script": ctx.script, "version": ctx.version, "id": ctx.execution_id,
                    "root": ctx.root_execution_id, "request": ctx.request_id, "depth": ctx.trigger_depth,
                    "principal": ctx.principal, "left": ctx.remaining_secs(), "deadline": ctx.deadline}
        """,
        root_execution_id=root,
        request_id="r-1",
        principal="ann",
        trigger_depth=2,
    )
    value = dict(outcome.value)
    assert 4.0 < value.pop("left") <= 5.0
    assert 0 < (datetime.fromisoformat(value.pop("deadline")) - datetime.now(UTC)).total_seconds() <= 5.0
    assert value == {
        "app": "shop",
        "script": "main",
        "version": 3,
        "id": str(outcome.execution_id),
        "root": str(root),
        "request": "r-1",
        "depth": 2,
        "principal": "ann",
    }


def test_an_execution_without_a_root_is_its_own_root(harness: Harness) -> None:
    outcome = harness.run("def handle(event, ctx):\n    return ctx.root_execution_id")
    assert UUID(outcome.value) == outcome.execution_id


def test_every_execution_has_an_id_of_its_own(harness: Harness) -> None:
    job = harness.job("def handle(event, ctx):\n    return None")
    outcomes = harness.engine.run_slice([job] * 50, slice_secs=60.0)
    assert len({outcome.execution_id for outcome in outcomes}) == 50
    assert all(outcome.execution_id.version == 7 for outcome in outcomes)


@pytest.mark.parametrize(
    "import_line", ["", "from picloud.sdk import queue, invoke, retry, log, Response, SDK_VERSION"]
)
def test_the_sdk_is_there_with_and_without_an_import(harness: Harness, import_line: str) -> None:
    source = f"{import_line}\ndef handle(event, ctx):\n    queue.enqueue('q', 1)\n    return Response(SDK_VERSION)"
    outcome = harness.run(source)
    assert outcome.value == "1.10"
    assert [message.queue_name for message in outcome.messages] == ["q"]


@pytest.mark.parametrize("value", ["None", "True", "3", "2.5", "'text'", "[1, [2]]", "{'a': {'b': None}}"])
def test_json_values_come_back_as_they_are(harness: Harness, value: str) -> None:
    outcome = harness.run(f"def handle(event, ctx):\n    return {value}")
    assert outcome.value == eval(value)
    assert outcome.response is None


def test_a_value_that_json_cannot_carry_is_named_by_its_path(harness: Harness) -> None:
    failure = harness.failure("def handle(event, ctx):\n    return {'items': [1, {'when': lambda: 1}]}")
    assert "result.items[1].when" in failure
    assert "function" in failure


def test_a_response_gives_its_body_status_and_headers(harness: Harness) -> None:
    outcome = harness.run(
        "def handle(event, ctx):\n    return Response({'a': (1, 2)}, status=404, headers={'X-A': 'b'})"
    )
    assert outcome.value == {"a": [1, 2]}
    assert outcome.response is not None
    assert (outcome.response.status, outcome.response.headers) == (404, {"X-A": "b"})
    assert outcome.response.body == {"a": [1, 2]}


def test_a_response_that_http_cannot_carry_fails_the_handler(harness: Harness) -> None:
    assert "status must be" in harness.failure("def handle(event, ctx):\n    return Response(None, status=99)")
    assert "header X-A must be text on one line" in harness.failure(
        "def handle(event, ctx):\n    return Response(None, headers={'X-A': 'a\\r\\nSet-Cookie: b'})"
    )


def test_a_header_changed_after_the_fact_is_checked_again(harness: Harness) -> None:
    assert not harness.run(
        """
        def handle(event, ctx):
            answer = Response(None, headers={"X-A": "b"})
            answer.headers["X-A"] = "a\\r\\nSet-Cookie: b"
            return answer
        """
    ).ok


def test_plain_json_is_the_payload_of_a_message() -> None:
    event = event_from_json({"action": "opened", "source": "github"})
    assert isinstance(event, QueueEvent)
    assert event.payload == {"action": "opened", "source": "github"}
    assert (event.attempt, event.max_attempts) == (1, 3)


def test_an_object_with_a_source_is_that_kind_of_event() -> None:
    event = event_from_json({"source": "http", "method": "PUT", "path": "/x", "body": {"a": 1}})
    assert isinstance(event, HttpEvent)
    assert (event.method, event.body, event.raw) == ("PUT", {"a": 1}, b'{"a": 1}')
    again = event_from_json({"source": "queue", "op": "receive", "payload": 1, "enqueued_at": "2026-01-01T00:00:00"})
    assert isinstance(again, QueueEvent)
    assert again.enqueued_at == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"source": "queue", "payloda": 1}, "event.payloda: unknown field (did you mean 'payload'?)"),
        ({"source": "queue", "attempt": "2"}, "event.attempt: must be a whole number"),
        ({"source": "cron", "scheduled_for": 5}, "event.scheduled_for: must be a time such as"),
        ({"source": "http", "headers": []}, "event.headers: must be an object"),
    ],
)
def test_a_wrong_event_is_refused_by_field(value: object, fault: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        event_from_json(value)
    assert str(caught.value).startswith(fault)


def test_the_payload_of_an_event_belongs_to_the_handler() -> None:
    payload = {"a": [1]}
    with open_harness() as harness:
        assert harness.value(
            "def handle(event, ctx):\n    event.payload['a'].append(2)\n    return event.payload", payload
        )
    assert queue_event(payload).payload == {"a": [1, 2]}


def test_a_mail_is_read_with_its_sender_under_both_names(harness: Harness) -> None:
    event = email_event("hi", subject="Order 7", sender="Ann <ann@example.com>", attachments={"a.csv": b"1,2"})
    value = harness.value(
        """
        from picloud.sdk import EmailEvent

        def handle(event: EmailEvent, ctx):
            (file,) = event.attachments
            return [event.source, event.sender, event["from"], event.get("from"), event.subject, event.text,
                    event.html, event.headers["to"], file["name"], file["type"], file["content"], event.truncated]
        """,
        event=event,
    )
    assert value == [
        *("email", "ann@example.com", "ann@example.com", "ann@example.com", "Order 7", "hi\n", None, "test@test"),
        *("a.csv", "text/csv", "MSwy", False),
    ]  # fmt: skip


def test_the_name_of_an_event_is_for_annotations_only(harness: Harness) -> None:
    assert "TypeError" in harness.failure("def handle(event, ctx):\n    return EmailEvent(1)")


def test_a_mail_written_by_hand_has_its_fields(harness: Harness) -> None:
    event = event_from_json({"source": "email", "from": "a@b", "text": "hi"})
    assert isinstance(event, EmailEvent)
    assert (event.sender, event.text, event.attachments, event.truncated) == ("a@b", "hi", [], False)
    with pytest.raises(InvalidInput, match=r"event\.subject: must be text"):
        event_from_json({"source": "email", "subject": 1})
    with pytest.raises(InvalidInput, match=r"event\.subjcet: unknown field \(did you mean 'subject'\?\)"):
        event_from_json({"source": "email", "subjcet": "x"})


def test_a_mail_in_the_outbox_is_built_or_refused() -> None:
    stored = {**make_event(parse_mail(b"From: a@b\r\n\r\nhi"), envelope_from="", max_bytes=10_000), "recipient": "x@y"}
    event = build_event("email", stored)
    assert isinstance(event, EmailEvent)
    assert (event.sender, event.recipient, event.text) == ("a@b", "x@y", "hi")
    for broken in ({**stored, "more": 1}, {name: stored[name] for name in ("from", "to")}, {}):
        with pytest.raises(InvalidInput, match="the email event is broken"):
            build_event("email", broken)
