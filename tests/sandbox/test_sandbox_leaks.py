"""Two apps share nothing that changes: one after the other in both orders, and interleaved in two threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus_worker import APPS, CorpusEvent, NoWorld

from picloud.engine import Engine, EngineSettings, Job, Outcome

HERE = Path(__file__).parent
LEAKS = {path.stem: path for folder in ("corpus", "own") for path in sorted((HERE / folder).glob("leak_*.py"))}
TOGETHER = 20
"""Executions of each app in its thread."""

SHARED = """
import collections, datetime, json, re, random
from decimal import Decimal

SEEN = []
PATTERN = re.compile("(?P<a>a)|b")

class Row:
    rows = []

def keep(value, kept=[]):
    kept.append(value)
    return kept

def handle(event, ctx):
    mine = event["payload"]["app"]
    for n in range(30):
        SEEN.append(mine)
        Row.rows.append(mine)
        keep(mine)
        event["payload"]["seen"].append(mine)
        random.seed(mine)
        first = random.random()
        random.seed(mine)
        if random.random() != first: return "PWNED random"
        for target in (json, re, datetime.datetime, collections.Counter, json.dumps, ValueError, PATTERN, log, queue):
            try: setattr(target, "planted", mine)
            except (AttributeError, TypeError): pass
            if getattr(target, "planted", mine) != mine or hasattr(target, "planted"): return "PWNED " + str(target)
        answer = Response({}, headers={"A": mine})
        answer.headers["B"] = mine
        if Response({}, headers={}).headers: return "PWNED headers"
        for table in (SEEN, Row.rows, keep(mine), event["payload"]["seen"]):
            if set(table) != {mine}: return "PWNED " + str(table)
        if len(str(Decimal(1) / 3)) != 30: return "PWNED decimal"
        print(mine)
        log.info(mine, app=mine)
    return "blocked"
"""


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine(EngineSettings(timeout_secs=10.0, cpu_secs=None), NoWorld())
    yield made
    made.close()


def run_as(engine: Engine, app: int, source: str, *, name: str = "leak", run: int | None = None) -> Outcome:
    event = CorpusEvent(app + 1 if run is None else run, {"app": f"app-{app}", "seen": []})
    job = Job(APPS[app], f"app-{app}", engine.compile(name, source), 1, event)
    (outcome,) = engine.run_slice([job], slice_secs=1.0)
    return outcome


def run_together(engine: Engine, source: str) -> list[list[Outcome]]:
    """Run the script as two apps at once, many times each."""
    outcomes: list[list[Outcome]] = [[], []]
    start = threading.Barrier(2)

    def work(app: int) -> None:
        start.wait()
        for _ in range(TOGETHER):
            outcomes[app].append(run_as(engine, app, source))

    threads = [threading.Thread(target=work, args=(app,)) for app in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def told(outcome: Outcome) -> Any:
    """What the script found: `blocked`, or that it failed or was refused as it should."""
    return "blocked" if outcome.error is not None else outcome.value


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first app first", "second app first"])
@pytest.mark.parametrize("name", LEAKS)
def test_second_app_finds_nothing_of_the_first(engine: Engine, name: str, order: tuple[int, int]) -> None:
    source = LEAKS[name].read_text()
    found = [told(run_as(engine, app, source, run=run)) for run, app in enumerate(order, start=1)]
    assert found == ["blocked", "blocked"]


@pytest.mark.parametrize("name", LEAKS)
def test_apps_at_once_find_nothing_of_each_other(engine: Engine, name: str) -> None:
    found = run_together(engine, LEAKS[name].read_text())
    assert {told(outcome) for outcomes in found for outcome in outcomes} == {"blocked"}


@pytest.mark.parametrize("order", [(0, 1, 0), (1, 0, 1)], ids=["first app first", "second app first"])
def test_every_place_to_keep_something_starts_empty(engine: Engine, order: tuple[int, ...]) -> None:
    for app in order:
        outcome = run_as(engine, app, SHARED)
        assert outcome.value == "blocked", outcome.error
        assert {line.message for line in outcome.logs} == {f"app-{app}"}


def test_every_place_to_keep_something_is_each_apps_own(engine: Engine) -> None:
    for app, outcomes in enumerate(run_together(engine, SHARED)):
        for outcome in outcomes:
            assert outcome.value == "blocked", outcome.error
            assert {line.message for line in outcome.logs} == {f"app-{app}"}
            assert {line.fields.get("app", f"app-{app}") for line in outcome.logs} == {f"app-{app}"}
