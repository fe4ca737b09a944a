"""examples/github-webhooks: its handlers in the engine, message by message until nothing can move."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from picloud.db.triggers import QueueTriggerSettings
from picloud.engine import Engine, EngineSettings, Job, Outcome, QueueEvent
from picloud.errors import ScriptInvalid
from picloud.manifest import load_manifest
from picloud.types import AppId, MessageId, NewMessage, Script, ScriptError, ScriptId

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "github-webhooks"
REAL_EVENTS = ROOT.parent / "shared" / "data" / "github-webhooks" / "events.jsonl"
MANIFEST = load_manifest(FOLDER)
APP = AppId(uuid7())
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class ExampleWorld:
    """The scripts of the folder; nothing waits anywhere."""

    def find_script(self, app_id: AppId, name: str) -> Script | None:
        source = MANIFEST.scripts.get(name)
        return None if source is None else Script(ScriptId(uuid7()), app_id, name, 1, source, "", NOW)

    def count_depth(self, app_id: AppId, queue_name: str) -> tuple[int, int]:
        return 0, 0

    def send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        raise AssertionError("the example sends nothing before its handlers have succeeded")


@dataclass
class Flow:
    """What became of the messages that were sent to `webhooks`."""

    handled: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    waiting: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    dead: list[tuple[str, ScriptError]] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    attempts: int = 0


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    world = ExampleWorld()  # the engine holds it weakly
    engine = Engine(EngineSettings(), world)
    yield engine
    engine.close()


def run_all(engine: Engine, payloads: Sequence[Any]) -> Flow:
    """Run every message, and what the handlers send, with the attempts that picloud.toml gives."""
    flow = Flow()
    triggers = {trigger.queue: trigger for trigger in MANIFEST.queue_triggers}
    todo = deque(("webhooks", payload) for payload in payloads)
    while todo:
        queue, payload = todo.popleft()
        if queue not in triggers:
            flow.waiting[queue].append(payload)
            continue
        outcome = run_one(engine, flow, queue, payload)
        flow.logs += [line.message for line in outcome.logs]
        if outcome.ok:
            flow.handled[queue] += 1
            todo.extend((message.queue_name, json.loads(message.payload)) for message in outcome.messages)
        else:
            assert outcome.error is not None
            flow.dead.append((queue, outcome.error))
    return flow


def run_one(engine: Engine, flow: Flow, queue: str, payload: Any) -> Outcome:
    """Run a message until it succeeds or has no attempt left."""
    trigger = next(trigger for trigger in MANIFEST.queue_triggers if trigger.queue == queue)
    most = int(trigger.settings.get("retry_max_attempts", QueueTriggerSettings().retry_max_attempts))
    compiled = engine.compile(trigger.script, MANIFEST.scripts[trigger.script])
    for attempt in range(1, most + 1):
        flow.attempts += 1
        event = QueueEvent(queue, str(uuid7()), json.loads(json.dumps(payload)), attempt, most, NOW)
        (outcome,) = engine.run_slice([Job(APP, MANIFEST.app, compiled, 1, event)], slice_secs=1.0)
        if outcome.ok:
            break
    return outcome


def test_every_script_passes_the_policy(engine: Engine) -> None:
    for name, source in MANIFEST.scripts.items():
        engine.compile(name, source)
    with pytest.raises(ScriptInvalid):
        engine.compile("bad", "import os\n")


def test_the_payloads_beside_the_app_go_where_its_readme_says(engine: Engine) -> None:
    lines = (FOLDER / "payloads.jsonl").read_text(encoding="utf-8").splitlines()
    flow = run_all(engine, [json.loads(line) for line in lines])
    assert flow.handled == {"webhooks": 7, "issues": 3, "pushes": 2}
    assert [entry["score"] for entry in flow.waiting["digest"]] == [7, 10, 1, 0]
    assert flow.waiting["other"] == [
        {"event": "star", "action": "created", "repository": "acme/rocket", "sender": "katherine"}
    ]
    ((queue, error),) = flow.dead
    assert (queue, error.type) == ("webhooks", "ValueError")
    assert error.message == "GitHub retired repository_vulnerability_alert: subscribe the webhook to dependabot_alert"
    assert error.source is not None
    assert error.source.startswith("raise ValueError(")
    # one retry of the message that dies, one attempt of each other
    assert flow.attempts == 8 + 5 + 1
    assert "pong" in flow.logs


@pytest.mark.skipif(not REAL_EVENTS.exists(), reason="the real deliveries are not beside this repository")
def test_real_deliveries_are_all_accounted_for(engine: Engine) -> None:
    lines = REAL_EVENTS.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 110
    flow = run_all(engine, [json.loads(line) for line in lines])
    # 2 pings end in triage, 4 are about issues, 6 about branches and tags, 96 are of other kinds, 2 are rejected
    assert flow.handled == {"webhooks": 108, "issues": 4, "pushes": 6}
    assert {queue: len(messages) for queue, messages in flow.waiting.items()} == {"other": 96, "digest": 4}
    assert [(queue, error.type) for queue, error in flow.dead] == [("webhooks", "ValueError")] * 2
    assert [(entry["repository"], entry["score"]) for entry in flow.waiting["digest"]] == [
        ("Codertocat/Hello-World", 4)
    ] * 4
    assert flow.attempts == 108 + 4 + 6 + 2 * 2
