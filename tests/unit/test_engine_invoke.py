"""`invoke`: another script of the same app, in the same thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import pytest
from engine_harness import BANK, SHOP, Harness, open_harness


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness() as harness:
        yield harness


def test_invoke_by_name_same_app_returns_value(harness: Harness) -> None:
    harness.deploy("price", "def handle(event, ctx):\n    return {'sku': event.body['sku'], 'total': 7}")
    value = harness.value("def handle(event, ctx):\n    return invoke('price', {'sku': event.payload})['total']", "A-1")
    assert value == 7


def test_invoke_cross_app_rejects(harness: Harness) -> None:
    harness.deploy("secret", "def handle(event, ctx):\n    return 1", app=BANK)
    call = "def handle(event, ctx):\n    return invoke(event.payload)"
    assert harness.failure(call, "bank/secret") == "InvokeError: invoke: cross-app call refused"
    assert harness.failure(call, "../bank/secret") == "InvokeError: invoke: cross-app call refused"
    assert harness.failure(call, "secret") == "InvokeError: invoke: script 'secret' not found"


def test_a_script_of_another_app_is_refused_even_when_the_world_gives_it(harness: Harness) -> None:
    foreign = harness.deploy("secret", "def handle(event, ctx):\n    return 1", app=BANK)
    harness.world.scripts[SHOP, "secret"] = replace(foreign, app_id=BANK)
    assert harness.failure("def handle(event, ctx):\n    return invoke('secret')").endswith("cross-app call refused")


def test_the_own_app_may_be_named(harness: Harness) -> None:
    harness.deploy("price", "def handle(event, ctx):\n    return 7")
    assert harness.value("def handle(event, ctx):\n    return invoke('shop/price')") == 7


def test_invoke_depth_limit_exceeds_cleanly(harness: Harness) -> None:
    harness.deploy("deeper", "def handle(event, ctx):\n    return invoke('deeper')")
    outcome = harness.run("def handle(event, ctx):\n    return invoke('deeper')")
    assert outcome.error is not None
    assert outcome.error.message == "invoke: depth limit exceeded (max 8)"
    assert len(harness.world.looked_up) == 8  # the ninth is refused before it is looked up
    assert [frame.script for frame in outcome.error.stack] == ["main"] + ["deeper"] * 8


def test_the_depth_counts_on_from_what_triggered_the_handler(harness: Harness) -> None:
    harness.deploy("callee", "def handle(event, ctx):\n    return ctx.trigger_depth")
    source = "def handle(event, ctx):\n    return invoke('callee')"
    assert harness.value(source, trigger_depth=7) == 8
    assert harness.failure(source, trigger_depth=8) == "InvokeError: invoke: depth limit exceeded (max 8)"


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("invoke('nope')", "invoke: script 'nope' not found"),
        ("invoke('/x')", "invoke: no route for '/x'"),
        ("invoke('/x', method='get')", "invoke: no route for '/x'"),
        (
            "invoke('callee', method='GET')",
            "invoke: method is for a route's path ('/callee'), 'callee' is a script's name",
        ),
        ("invoke('/x', method='FETCH')", "invoke: unknown method (use one of "),
        ("invoke(5)", "invoke: target must be a script's name or a route's path, not int"),
        ("invoke('a\\nb')", "invoke: script 'a\\nb' not found"),
        ("invoke('callee', lambda: 1)", "invoke: args must not contain functions"),
        ("invoke('callee', {'a': [1, {'f': handle}]})", "invoke: args must not contain functions"),
        ("invoke('callee', [event.payload.append])", "invoke: args must not contain functions"),
        ("invoke('callee', {'a': ctx})", "invoke: args.a: 'Context' object is not JSON"),
    ],
)
def test_a_call_that_cannot_work_is_refused(harness: Harness, call: str, fault: str) -> None:
    harness.deploy("callee", "def handle(event, ctx):\n    return 1")
    assert harness.failure(f"def handle(event, ctx):\n    return {call}", []).startswith(f"InvokeError: {fault}")


def test_a_refused_call_can_be_caught(harness: Harness) -> None:
    source = """
        def handle(event, ctx):
            try:
                invoke("nope")
            except Exception as error:
                return str(error)
        """
    assert harness.value(source) == "invoke: script 'nope' not found"


def test_caller_and_callee_share_nothing_mutable(harness: Harness) -> None:
    harness.deploy(
        "callee",
        """
        kept = []
        def handle(event, ctx):
            kept.append(1)
            event.body["items"].append("callee")
            return {"kept": kept, "items": event.body["items"]}
        """,
    )
    value = harness.value(
        """
        def handle(event, ctx):
            args = {"items": ["caller"]}
            first = invoke("callee", args)
            first["kept"].append("changed")
            return [args, first, invoke("callee", args)]
        """
    )
    callee = {"kept": [1], "items": ["caller", "callee"]}
    assert value == [{"items": ["caller"]}, {**callee, "kept": [1, "changed"]}, callee]


def test_the_callee_inherits_all_but_its_id_and_depth(harness: Harness) -> None:
    tell = "[ctx.app, ctx.root_execution_id, ctx.request_id, ctx.principal]"
    harness.deploy(
        "callee",
        f"def handle(event, ctx):\n    return [{tell}, ctx.execution_id, ctx.trigger_depth, ctx.script, ctx.version, "
        "event.source, event.caller, event.body]",
    )
    source = f"def handle(event, ctx):\n    return [{tell}, ctx.execution_id, invoke('callee')]"
    outcome = harness.run(source, request_id="r-1", principal="ann")
    own, own_id, (inherited, callee_id, *rest) = outcome.value
    assert inherited == own == ["shop", str(outcome.execution_id), "r-1", "ann"]
    assert UUID(callee_id) != UUID(own_id)
    assert rest == [1, "callee", 7, "invoke", "main", None]


def test_a_response_gives_its_body_alone(harness: Harness) -> None:
    harness.deploy("callee", "def handle(event, ctx):\n    return Response([1], status=500)")
    outcome = harness.run("def handle(event, ctx):\n    return invoke('callee')")
    assert (outcome.value, outcome.response) == ([1], None)


def test_the_callee_has_only_the_time_that_is_left() -> None:
    with open_harness(timeout_secs=0.2) as harness:
        harness.deploy("spin", "def handle(event, ctx):\n    while True:\n        pass")
        outcome = harness.run("def handle(event, ctx):\n    queue.enqueue('q', 1)\n    return invoke('spin')")
    assert outcome.error is not None
    assert outcome.error.type == "BudgetExceeded"
    assert outcome.error.message in {f"ran past 0.2 s (line 3, 'spin' line {line})" for line in (2, 3)}
    assert 0.15 < outcome.duration < 1.2


def test_an_error_in_the_callee_shows_the_lines_of_both_scripts(harness: Harness) -> None:
    harness.deploy("price", "def handle(event, ctx):\n    prices = {}\n    return prices[event.body]")
    outcome = harness.run("def handle(event, ctx):\n    # why\n    return invoke('price', 'A-1')")
    error = outcome.error
    assert error is not None
    assert (error.type, error.message, error.line, error.source) == (
        "KeyError",
        "'A-1'",
        3,
        "return invoke('price', 'A-1')",
    )
    assert [(frame.script, frame.line, frame.function, frame.source) for frame in error.stack] == [
        ("main", 3, "handle", "return invoke('price', 'A-1')"),
        ("price", 3, "handle", "return prices[event.body]"),
    ]


def test_a_callee_that_breaks_the_policy_says_where(harness: Harness) -> None:
    harness.deploy("bad", "import os\ndef handle(event, ctx):\n    return 1")
    failure = harness.failure("def handle(event, ctx):\n    return invoke('bad')")
    assert failure.startswith("ScriptInvalid: script 'bad' has 1 fault")


def test_a_callee_without_a_handler_says_so(harness: Harness) -> None:
    harness.deploy("empty", "x = 1")
    assert "handle(event, ctx)" in harness.failure("def handle(event, ctx):\n    return invoke('empty')")


def test_a_script_may_invoke_itself(harness: Harness) -> None:
    source = """
        def handle(event, ctx):
            n = event.get("body", event.get("payload"))
            return 1 if n <= 1 else n * invoke("main", n - 1)
        """
    harness.deploy("main", source)
    assert harness.value(source, 5) == 120


def test_the_callee_is_compiled_once(harness: Harness) -> None:
    script = harness.deploy("callee", "def handle(event, ctx):\n    return 1")
    harness.value("def handle(event, ctx):\n    return [invoke('callee') for n in range(3)]")
    assert harness.engine.compile("callee", script.source) is harness.engine.compile("callee", script.source)
