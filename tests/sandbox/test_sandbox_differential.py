"""Random scripts give in the sandbox what they give in plain CPython: the same result, or the same error.

Without a setting the scripts are the same in every run, and texts of errors are compared, too.
`PICLOUD_TEST_DIFFERENTIAL` runs new scripts for five minutes: `long` compares results and types of errors, `texts`
their texts as well.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
import os
import re
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator
from random import Random
from types import SimpleNamespace
from typing import Any, Final
from uuid import uuid4

import pytest
from found_differences import FOUND, FOUND_HEAD
from hypothesis import HealthCheck, Phase, given, seed, settings
from script_generator import scripts

from picloud.engine import Engine, EngineSettings, Job, QueueEvent
from picloud.engine.sandbox import escape_controls
from picloud.types import AppId

pytestmark = pytest.mark.filterwarnings("ignore")
"""Random code earns warnings, at compile time and at run time."""

MODE: Final = os.environ.get("PICLOUD_TEST_DIFFERENTIAL", "")
LONG: Final = MODE in ("long", "texts")
LONG_SECS: Final = 300.0
PLAIN_SECS: Final = 30.0
EXAMPLES: Final = 250
VALUE_FLOOR: Final = 0.55
"""Share of the scripts that must return a value: the others end with an error in the middle."""
LIMIT_CEILING: Final = 0.05
"""Share of the scripts that may meet a limit, and so are not compared."""

NOW: Final = datetime.datetime(2026, 12, 1, 12, 0, tzinfo=datetime.UTC)
APP: Final = AppId(uuid4())

ALLOWED: Final = (
    # pattern, what both sides are made to say, why the sandbox differs
    (r" at 0x[0-9a-f]+", "", "a repr shows no address"),
    (r"\b(?:script|__main__|builtins)\.(?=\w)", "", "a repr shows no module of the script"),
    (
        r"\b(?:collections|datetime|decimal)\.(?=\w)",
        "",
        "Python's texts name some types with their module, some without",
    ),
    (r"\bPatternError\b", "error", "its name until Python 3.12, which scripts see"),
    (r"(?<=in class )(\w+) Consider using", r"\1. Consider using", "Python 3.13 lost the full stop"),
    (r" \(or it is not available in scripts\)", "", "advice"),
    (r"bytes are needed: use text.encode\(\)|object supporting the buffer API required", "no bytes", "advice"),
    (r"Strings must be encoded before hashing", "no bytes", "advice"),
    (r"\b(?:str|bytes|encode|decode)\(\) (?=argument 'e)", "", "one check of encodings serves all functions"),
)


class NoWorld:
    """Scripts here reach nothing outside."""

    def find_script(self, app_id: Any, name: str) -> None:
        return None

    def count_depth(self, app_id: Any, queue_name: str) -> tuple[int, int]:
        return 0, 0

    def send_now(self, app_id: Any, messages: Any) -> list[Any]:
        return []


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine(EngineSettings(timeout_secs=5.0), NoWorld())
    yield made
    made.close()


def payload() -> dict[str, Any]:
    return {"table": {"a": 1, "b": 5}, "ints": [4, 2, 9], "str": "Grüße, you"}


def run_in_engine(engine: Engine, source: str) -> Any:
    """Return a value as JSON, or the error's type and text."""
    event = QueueEvent("orders", "m-1", payload(), 1, 3, NOW)
    job = Job(APP, "shop", engine.compile("main", source), 1, event)
    (outcome,) = engine.run_slice([job], slice_secs=60.0)
    return outcome.value if outcome.error is None else (outcome.error.type, outcome.error.message)


class Endless(BaseException):
    """Plain Python knows no limit."""


def run_plainly(source: str) -> Any:
    """Return a value, or the error's type and text. Raises: Endless, where the sandbox came to an end."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, PLAIN_SECS)
    try:
        return _run_plainly(source)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stop(number: int, frame: object) -> None:
    raise Endless


def _run_plainly(source: str) -> Any:
    scope: dict[str, Any] = {"__name__": "script", "print": lambda *values: " ".join(map(str, values))}
    try:
        exec(compile(source, "<plain>", "exec", dont_inherit=True), scope)
        return as_json(scope["handle"](SimpleNamespace(payload=payload()), None))
    except Exception as error:
        return type(error).__name__, text_of(error)


def text_of(error: Exception) -> str:
    try:
        return escape_controls(str(error))
    except Exception as broken:
        return f"<the error's text cannot be shown: {type(broken).__name__}>"  # the product's words


class ExportError(Exception):
    """What the product says of values that are not JSON; its text names the path, and is not compared."""


def as_json(value: Any) -> Any:
    """Return what the product documents for values that leave a script."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, dict):
        if not all(key is None or isinstance(key, str | int | float) for key in value):
            raise ExportError
        return {key if isinstance(key, str) else json.dumps(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | deque | set | frozenset):
        return [as_json(item) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise ExportError


def normal(value: Any) -> Any:
    """Return a result without the differences that are allowed."""
    if isinstance(value, str):
        for pattern, replacement, _ in ALLOWED:
            value = re.sub(pattern, replacement, value)
        return value
    if isinstance(value, tuple):
        kind, *message = value
        return kind, *([] if kind == "ExportError" else map(normal, message))
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, dict):
        return {normal(key): normal(item) for key, item in value.items()}
    return value


def compare(engine: Engine, source: str, *, texts: bool = True) -> str:
    """Run a script both ways; return how it ended: "value", "error", or "limit", which plain Python has not."""
    guarded = run_in_engine(engine, source)
    text = repr(guarded)
    if any(limit in text for limit in ("LimitError", "BudgetExceeded", "RecursionError")):
        return "limit"
    plain = run_plainly(source)
    if not texts and isinstance(guarded, tuple) and isinstance(plain, tuple):
        guarded, plain = guarded[:1], plain[:1]
    assert normal(guarded) == normal(plain)
    return "error" if isinstance(guarded, tuple) else "value"


def run_examples(engine: Engine, most: int, start: int | None = None, *, texts: bool = True) -> Counter[str]:
    """Compare that many scripts, the same ones every time without `start`; return how they ended."""
    ends: Counter[str] = Counter()

    @settings(
        max_examples=most,
        derandomize=start is None,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(script=scripts(texts=texts))
    def check(script: str) -> None:
        ends[compare(engine, script, texts=texts)] += 1

    (check if start is None else seed(start)(check))()
    return ends


def check_shares(ends: Counter[str]) -> None:
    assert ends["value"] >= VALUE_FLOOR * ends.total(), ends
    assert ends["error"] > 0, ends
    assert ends["limit"] <= LIMIT_CEILING * ends.total(), ends


@pytest.mark.skipif(LONG, reason="the long run replaces it")
def test_random_scripts_give_what_python_gives(engine: Engine) -> None:
    check_shares(run_examples(engine, EXAMPLES))


@pytest.mark.skipif(not LONG, reason="PICLOUD_TEST_DIFFERENTIAL=long runs it")
def test_new_random_scripts_give_what_python_gives(engine: Engine) -> None:
    ends: Counter[str] = Counter()
    until = time.monotonic() + LONG_SECS
    while time.monotonic() < until:
        # a batch at a time: Hypothesis knows no end by time
        ends += run_examples(engine, 200, start=Random().getrandbits(64), texts=MODE == "texts")
    print(f"{ends.total()} scripts: {dict(ends)}")
    check_shares(ends)


@pytest.mark.parametrize("name", FOUND)
def test_difference_that_was_found_stays_closed(engine: Engine, name: str) -> None:
    lines = "\n".join(f"    {line}" for line in FOUND[name].split("\n"))
    assert compare(engine, f"{FOUND_HEAD}\ndef handle(event, ctx):\n{lines}\n") == "value"
