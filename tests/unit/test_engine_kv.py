"""`kv`, `secrets` and `invoke_async` in a handler: own changes are seen, and failures take them back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from engine_harness import SHOP, Harness, open_harness

from picloud.types import KvEntry


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness() as opened:
        opened.world.keys = {
            (SHOP, "stock/apple"): KvEntry("5", 11),
            (SHOP, "stock/pear"): KvEntry('{"left": 2}', 12),
            (SHOP, "name"): KvEntry('"shop"', 13),
        }
        yield opened


def test_reads_see_what_is_stored_and_what_the_handler_wrote(harness: Harness) -> None:
    value = harness.value(
        """
        def handle(event, ctx):
            before = kv.get("stock/apple")
            kv.set("stock/apple", {"left": before - 1})
            kv.set("new", [1])
            kv.delete("name")
            return [before, kv.get("stock/apple"), kv.get("new"), kv.get("name"), kv.get("none", "default"),
                    kv.list("stock/"), kv.list(), kv.list(after="new", limit=1)]
        """
    )
    assert value == [
        5,
        {"left": 4},
        [1],
        None,
        "default",
        ["stock/apple", "stock/pear"],
        ["new", "stock/apple", "stock/pear"],
        ["stock/apple"],
    ]


def test_a_key_is_read_once_however_often_it_is_asked_for(harness: Harness) -> None:
    harness.value("def handle(event, ctx):\n    return [kv.get('name') for _ in range(5)]\n")
    assert harness.world.keys_read == ["name"]


def test_changes_leave_as_effects_in_order(harness: Harness) -> None:
    outcome = harness.run(
        """
        def handle(event, ctx):
            entry = kv.entry("stock/apple")
            kv.set("stock/apple", entry.value - 1, if_version=entry.version)
            kv.increment("sold", 2)
            kv.delete("stock/pear")
            return kv.increment("sold")
        """
    )
    assert outcome.ok, outcome.error
    assert outcome.value == 3
    assert [(w.kind, w.key, w.value, w.amount, w.if_version) for w in outcome.effects.writes] == [
        ("set", "stock/apple", "4", 0, 11),
        ("increment", "sold", None, 2, None),
        ("delete", "stock/pear", None, 0, None),
        ("increment", "sold", None, 1, None),
    ]


def test_failures_take_their_own_changes_back(harness: Harness) -> None:
    harness.deploy("callee", "def handle(event, ctx):\n    kv.set('b', 2)\n    raise ValueError('no')\n")
    outcome = harness.run(
        """
        TWICE = retry.policy(max_attempts=2, base_ms=1)

        def handle(event, ctx):
            kv.set("a", 1)
            tries = []
            def attempt():
                tries.append(1)
                kv.set("tried", len(tries))
                if len(tries) == 1:
                    raise ValueError("once")
            retry.run(TWICE, attempt)
            try:
                invoke("callee")
            except ValueError:
                pass
            return [kv.get("b"), kv.get("tried")]
        """
    )
    assert outcome.value == [None, 2]
    assert [(w.key, w.value) for w in outcome.effects.writes] == [("a", "1"), ("tried", "2")]
    assert harness.run("def handle(event, ctx):\n    kv.set('a', 1)\n    raise ValueError('no')\n").effects.writes == ()


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        ("kv.get('')", "KvError: kv: key must be text of 1 to 512 bytes"),
        ("kv.get(5)", "KvError: kv: key must be text of 1 to 512 bytes"),
        ("kv.set('k' * 513, 1)", "KvError: kv: key is 513 bytes, the limit is 512"),
        ("kv.set('a\\0', 1)", "KvError: kv: key has a NUL character"),
        ("kv.set('a', '\\0')", "KvError: kv: value has a NUL character at value"),
        (
            "kv.set('a', {'when': [print]})",
            "KvError: kv: value.when[0]: 'function' object is not JSON",
        ),
        ("kv.set('a', float('inf'))", "KvError: kv: value: inf is not JSON"),
        ("kv.increment('name')", "KvError: kv: increment needs a number, the key holds a str"),
        ("kv.increment('n', 'x')", "KvError: kv: increment needs a number that a 64-bit integer or a float can hold"),
        ("kv.increment('n', 2 ** 63)", "KvError: kv: increment needs a number that a 64-bit integer"),
        ("kv.set('name', 1, if_version=12)", "KvError: kv: key 'name' has another version than 12"),
        ("kv.set('fresh', 1, if_version=1)", "KvError: kv: key 'fresh' has another version than 1"),
        ("kv.set('name', 1, if_version=True)", "KvError: kv: if_version must be the version of an entry"),
        ("kv.list(limit=0)", "KvError: kv: limit must be a whole number from 1 to 1000"),
        ("kv.list(5)", "KvError: kv: prefix must be text, not int"),
        ("secrets.get('none')", "SecretError: secrets: no secret 'none': set it with picloud secrets set shop"),
        ("secrets.get(5)", "SecretError: secrets: the name of a secret is text"),
    ],
)
def test_what_cannot_work_is_refused_with_advice(harness: Harness, call: str, refusal: str) -> None:
    assert harness.failure(f"def handle(event, ctx):\n    return {call}\n").startswith(refusal)


def test_a_key_that_must_not_be_there_may_be_made(harness: Harness) -> None:
    outcome = harness.run("def handle(event, ctx):\n    kv.set('fresh', 1, if_version=0)\n")
    assert [write.if_version for write in outcome.effects.writes] == [0]


def test_what_is_read_belongs_to_the_reader(harness: Harness) -> None:
    value = harness.value(
        """
        def handle(event, ctx):
            first = kv.get("stock/pear")
            first["left"] = 99
            return kv.get("stock/pear")
        """
    )
    assert value == {"left": 2}


def test_changes_count_as_effects(harness: Harness) -> None:
    with open_harness(max_effects=10) as small:
        source = "def handle(event, ctx):\n    for n in range(11):\n        kv.set(f'k{n}', n)\n"
        assert small.failure(source).startswith("BudgetExceeded: asked for more than 10 effects")


def test_secrets_are_given_to_the_scripts_of_their_app(harness: Harness) -> None:
    harness.world.secrets[SHOP, "api-key"] = "s3cret"
    assert harness.value("def handle(event, ctx):\n    return secrets.get('api-key')\n") == "s3cret"


def test_invoke_async_is_an_effect_with_its_own_copy_of_the_arguments(harness: Harness) -> None:
    script = harness.deploy("later", "def handle(event, ctx):\n    return event.body\n")
    outcome = harness.run(
        """
        def handle(event, ctx):
            args = {"n": 1}
            made = invoke_async("later", args)
            args["n"] = 2
            return made
        """,
        trigger_depth=3,
    )
    (invocation,) = outcome.effects.invocations
    assert str(invocation.id) == outcome.value
    assert invocation.script_id == script.id
    assert json.loads(invocation.event) == {"body": {"n": 1}, "caller": "main"}
    assert invocation.trigger_depth == 4
    assert invocation.root_execution_id == outcome.execution_id


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        ("invoke_async('none')", "InvokeError: invoke: script 'none' not found"),
        ("invoke_async('bank/main')", "InvokeError: invoke: cross-app call refused"),
        ("invoke_async('later', lambda: 1)", "InvokeError: invoke: args must not contain functions"),
        ("invoke_async('/none')", "InvokeError: invoke: no route for '/none'"),
        ("invoke_async('later', 'é' * 600_000)", "InvokeError: invoke: args is 1.1 MiB, the limit is 1 MiB"),
        ("invoke_async('later', ['a\\0b'])", "InvokeError: invoke: args has a NUL character at args[0]"),
    ],
)
def test_invoke_async_refuses_what_invoke_does(harness: Harness, call: str, refusal: str) -> None:
    harness.deploy("later", "def handle(event, ctx):\n    return 1\n")
    assert harness.failure(f"def handle(event, ctx):\n    {call}\n") == refusal


def test_invoke_async_at_the_depth_limit_is_refused(harness: Harness) -> None:
    harness.deploy("later", "def handle(event, ctx):\n    return 1\n")
    source = "def handle(event, ctx):\n    invoke_async('later')\n"
    assert harness.failure(source, trigger_depth=8) == "InvokeError: invoke: depth limit exceeded (max 8)"


def test_invoke_by_route_prefers_post_then_get_and_takes_a_method(harness: Harness) -> None:
    for name in ("posted", "got", "put"):
        harness.deploy(name, f"def handle(event, ctx):\n    return '{name}'\n")
    harness.world.routes = {
        (SHOP, "POST /both"): "posted",
        (SHOP, "GET /both"): "got",
        (SHOP, "GET /only"): "got",
        (SHOP, "PUT /both"): "put",
    }
    source = "def handle(event, ctx):\n    return [invoke('/both'), invoke('/only'), invoke('/both', method='put')]\n"
    assert harness.value(source) == ["posted", "got", "put"]
    assert (
        harness.failure("def handle(event, ctx):\n    invoke('/only', method='POST')\n")
        == "InvokeError: invoke: no route for '/only' (POST)"
    )
