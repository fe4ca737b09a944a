"""picloud send: what is stored is known, whatever goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_probes import Ran, Request, ScriptedNode, run_cli, scripted_node

from picloud.cli.stream import BATCH_MESSAGES

ROUTE = "POST /apps/shop/queues/orders/messages"


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    with scripted_node() as node:
        node.answers[ROUTE] = store
        yield node


def store(request: Request) -> tuple[int, Any]:
    if "messages" not in request.body:
        return 201, {"id": "0193", "is_new": True}
    count = len(request.body["messages"])
    return 201, {"items": [{"id": str(at), "is_new": True} for at in range(count)], "sent": count, "duplicates": 0}


def send(node: ScriptedNode, *args: str, stdin: bytes = b"") -> Ran:
    return run_cli("send", "shop", "orders", *args, *node.options(), stdin=stdin)


def payloads(node: ScriptedNode) -> list[Any]:
    return [message["payload"] for request in node.requests for message in request.body["messages"]]


def test_one_message_with_its_options(node: ScriptedNode) -> None:
    options = ["--delay", "1h30m", "--priority", "7", "--max-attempts", "2", "--dedup-key", "o-1"]
    ran = send(node, ' {"sku": "ä"} ', *options)
    assert (ran.code, ran.out, ran.err) == (0, "sent 0193\n", "")
    assert node.requests[0].body == {
        "payload": {"sku": "ä"},
        "delay": 5400.0,
        "priority": 7,
        "max_attempts": 2,
        "dedup_key": "o-1",
    }


def test_one_message_without_options_leaves_them_to_the_node(node: ScriptedNode) -> None:
    assert json.loads(send(node, "null", "--json").out) == {"id": "0193", "is_new": True}
    assert node.requests[0].body == {"payload": None}


def test_a_duplicate_is_said_to_be_one(node: ScriptedNode) -> None:
    node.answers[ROUTE] = (200, {"id": "0192", "is_new": False})
    ran = send(node, "1", "--dedup-key", "a")
    assert (ran.code, ran.out) == (0, "not sent: message 0192 has that dedup key already\n")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            "hello",
            "payload is not JSON: Expecting value: line 1 column 1 (char 0) (a file is @FILE; text needs",
        ),
        ("NaN", "payload is not JSON: NaN is not a JSON value"),
        ('"\\u0000"', "payload has a NUL character at payload"),
        ("[" * 5000 + "]" * 5000, "payload is nested deeper than 100 levels"),
        ("@nowhere.jsonl", "nowhere.jsonl: No such file or directory"),
        ("@", "@: No such file or directory"),
    ],
)
def test_what_is_no_message_is_refused_before_anything_is_sent(node: ScriptedNode, data: str, expected: str) -> None:
    ran = send(node, data)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"Error: {expected}")
    assert node.requests == []


def test_a_delay_that_is_none_is_refused(node: ScriptedNode) -> None:
    ran = send(node, "1", "--delay", "soon")
    assert (ran.code, node.requests) == (1, [])
    assert "--delay: cannot read 'soon' as a duration" in ran.err


def test_a_dedup_key_for_a_file_is_a_mistake(node: ScriptedNode) -> None:
    ran = send(node, "-", "--dedup-key", "a", stdin=b"1\n2\n")
    assert (ran.code, node.requests) == (2, [])
    assert "--dedup-key is for one message" in ran.err


def test_a_file_goes_in_batches_in_order_and_blank_lines_are_no_messages(node: ScriptedNode, tmp_path: Path) -> None:
    file = tmp_path / "orders.jsonl"
    count = 2 * BATCH_MESSAGES + 1
    file.write_text("\n\r\n".join(json.dumps({"n": n}) for n in range(count)))
    ran = send(node, f"@{file}", "--priority", "3", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == {"app": "shop", "queue": "orders", "sent": count, "duplicates": 0}
    assert payloads(node) == [{"n": n} for n in range(count)]
    assert [len(request.body["messages"]) for request in node.requests] == [BATCH_MESSAGES, BATCH_MESSAGES, 1]
    assert node.requests[0].body["messages"][0] == {"payload": {"n": 0}, "priority": 3}


def test_large_lines_make_small_batches(node: ScriptedNode) -> None:
    line = json.dumps("x" * 3_000_000).encode()
    assert send(node, "-", stdin=b"\n".join([line] * 5)).code == 0
    assert [len(request.body["messages"]) for request in node.requests] == [2, 2, 1]


def test_standard_input_is_sent_and_an_empty_one_sends_nothing(node: ScriptedNode) -> None:
    ran = send(node, "-", stdin='\ufeff1\n"ü"\n'.encode())
    assert ran.out.startswith("sent 2 messages to shop/orders in ")
    assert payloads(node) == [1, "ü"]
    assert send(node, "-").out.startswith("sent 0 messages")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"{oops}", "payload is not JSON: Expecting property name enclosed in double quotes"),
        (b'"\xff"', "not UTF-8 text: byte 2: invalid start byte"),
        (b'"\\ud800"', "payload has a lone surrogate"),
    ],
)
def test_a_bad_line_stops_after_everything_before_it_was_sent(
    node: ScriptedNode, tmp_path: Path, bad: bytes, why: str
) -> None:
    file = tmp_path / "my orders.jsonl"
    file.write_bytes(b"1\n2\n\n" + bad + b"\n5\n")
    ran = send(node, f"@{file}", "--delay", "5m", "--max-attempts", "2")
    assert (ran.code, ran.out) == (1, "")
    assert payloads(node) == [1, 2]
    assert ran.err.startswith(f"Error: line 4: {why}")
    assert ran.err.splitlines()[1:] == [
        "2 messages before were stored; line 4 and what follows was not. Go on with:",
        f"  tail -n +4 '{file}' | picloud send shop orders - --delay 300.0 --max-attempts 2 --url {node.url}",
    ]
    problem = json.loads(send(node, f"@{file}", "--json").err)
    assert (problem["code"], problem["sent"], problem["next_line"]) == ("send_stopped", 2, 4)


def test_a_batch_that_the_node_refuses_names_the_lines(node: ScriptedNode) -> None:
    faults = [{"detail": "queue: payload is 2 MiB, the limit is 1 MiB", "pointer": "/messages/1/payload"}]
    node.answers[ROUTE] = (422, {"code": "invalid_fields", "detail": "1 fault", "status": 422, "errors": faults})
    ran = send(node, "-", stdin=b"1\n\n3\n")
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "Error: line 3: payload is 2 MiB, the limit is 1 MiB",
        "0 messages before were stored; lines 1 to 3 and what follows was not. Go on with:",
        f"  tail -n +1 THE_SAME_INPUT | picloud send shop orders - --url {node.url}",
    ]


def test_an_unknown_app_is_said_as_the_node_says_it(node: ScriptedNode) -> None:
    node.answers[ROUTE] = (404, {"code": "app_not_found", "detail": "no app 'shop'", "status": 404})
    assert send(node, "-", stdin=b"1\n").err.startswith("Error: no app 'shop'\n0 messages before were stored")


def test_an_answer_that_never_came_leaves_the_batch_open(node: ScriptedNode) -> None:
    answers = iter([store, lambda request: (0, None)])
    node.answers[ROUTE] = lambda request: next(answers)(request)
    ran = send(node, "-", stdin=b"1\n" * (BATCH_MESSAGES + 2))
    assert ran.code == 1
    assert (
        f"{BATCH_MESSAGES} messages before were stored; whether lines {BATCH_MESSAGES + 1} to {BATCH_MESSAGES + 2} "
        "arrived is not known: look before you send them again"
    ) in ran.err
