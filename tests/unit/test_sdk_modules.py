"""picloud.sdk as ordinary Python: importable anywhere, and the same interface as in a handler."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

from picloud.engine.bridges import LogBridge, QueueBridge, RetryBridge
from picloud.engine.execution import Execution
from picloud.engine.offering import respond
from picloud.errors import OutsideHandler, RetryError, SdkError
from picloud.sdk import SDK_VERSION, Response, invoke, log, queue, retry


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: queue.enqueue("q", 1), "queue.enqueue"),
        (lambda: queue.enqueue_many("q", [1]), "queue.enqueue_many"),
        (lambda: queue.depth("q"), "queue.depth"),
        (lambda: queue.depth_pending("q"), "queue.depth_pending"),
        (lambda: invoke("x"), "invoke"),
        (lambda: retry.run(retry.policy(), lambda: 1), "retry.run"),
        (lambda: log.debug("x"), "log.debug"),
        (lambda: log.info("x"), "log.info"),
        (lambda: log.warning("x"), "log.warning"),
        (lambda: log.error("x", a=1), "log.error"),
    ],
)
def test_a_call_outside_of_a_handler_says_what_to_use(call: Any, name: str) -> None:
    with pytest.raises(OutsideHandler, match=rf"^{name} works only inside a handler; use picloud.testing"):
        call()


@pytest.mark.parametrize(
    ("bridge", "module"), [(QueueBridge, queue), (RetryBridge, retry), (LogBridge, log)], ids=["queue", "retry", "log"]
)
def test_a_handler_sees_the_functions_of_the_module(bridge: Any, module: Any) -> None:
    functions = {
        name
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_") and name != "check_policy"
    }
    assert set(bridge._sandbox_attrs_) == functions
    for name in functions:
        assert _signature(getattr(bridge, name)) == _signature(getattr(module, name)), name


def test_invoke_and_response_have_the_signature_of_the_module() -> None:
    assert _signature(Execution.invoke) == _signature(invoke)
    assert [*inspect.signature(respond).parameters] == [*inspect.signature(Response).parameters]


def test_the_sdk_is_light() -> None:
    heavy = "{'trio', 'psycopg', 'quart', 'RestrictedPython', 'regex', 'uuid_utils'}"
    code = f"import sys, picloud.sdk; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_version_is_that_of_the_contract() -> None:
    assert SDK_VERSION == "1.10"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, (3, "exponential", 100, 10)),
        ({"max_attempts": 0, "base_ms": 0, "jitter_pct": -5}, (1, "exponential", 1, 0)),
        ({"max_attempts": 21, "base_ms": 60_001, "jitter_pct": 101}, (20, "exponential", 60_000, 100)),
        ({"max_attempts": 10**400, "base_ms": 2.9, "backoff": "linear"}, (20, "linear", 2, 10)),
        ({"backoff": "constant", "jitter_pct": 0}, (3, "constant", 100, 0)),
    ],
)
def test_a_policy_moves_its_numbers_into_range(given: dict[str, Any], kept: tuple[Any, ...]) -> None:
    policy = retry.policy(**given)
    assert (policy.max_attempts, policy.backoff, policy.base_ms, policy.jitter_pct) == kept


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"backoff": "x"}, "retry: unknown backoff 'x' (use exponential, linear or constant)"),
        ({"backoff": 5}, "retry: unknown backoff of type int (use exponential, linear or constant)"),
        ({"max_attempts": "3"}, "retry: max_attempts must be a number, not str"),
        ({"base_ms": True}, "retry: base_ms must be a number, not bool"),
        ({"jitter_pct": float("nan")}, "retry: jitter_pct must be a number, not float"),
        ({"on_codes": "E1"}, "retry: on_codes must be a list of texts, not str"),
        ({"on_codes": [5]}, "retry: each of on_codes must be text of 1 to 500 characters"),
        ({"on_codes": [""]}, "retry: each of on_codes must be text of 1 to 500 characters"),
        ({"on_codes": ["x"] * 101}, "retry: on_codes has more than 100 codes"),
    ],
)
def test_a_wrong_policy_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(RetryError) as caught:
        retry.policy(**given)
    assert str(caught.value) == fault


def test_a_policy_does_not_change() -> None:
    policy = retry.policy()
    with pytest.raises(AttributeError):
        policy.max_attempts = 5  # type: ignore[misc]
    assert retry.on_codes(policy, ["E1"]).on_codes == ("E1",)
    assert policy.on_codes == ()


def test_a_response_does_not_change() -> None:
    response = Response({"a": 1}, 404, {"X-A": "b"})
    assert (response.body, response.status, response.headers) == ({"a": 1}, 404, {"X-A": "b"})
    with pytest.raises(AttributeError, match="make another one"):
        response.status = 200
    with pytest.raises(AttributeError, match="make another one"):
        del response.status


@pytest.mark.parametrize(
    "given",
    [
        {"status": 199},
        {"status": 600},
        {"status": True},
        {"status": 10**400},
        {"headers": []},
        {"headers": {"a b": "c"}},
        {"headers": {"a": "b\r\nc: d"}},
        {"headers": {"a": 5}},
        {"headers": {"a": "\ud800"}},
        {"headers": {"a": "x" * 10_000}},
    ],
)
def test_a_response_that_http_cannot_carry_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(SdkError, match=r"^Response: "):
        Response(None, **given)


def _signature(function: Any) -> list[tuple[str, Any, Any]]:
    parameters = list(inspect.signature(function).parameters.values())
    return [(p.name, p.kind, p.default) for p in parameters if p.name != "self"]
