"""The reference's end-to-end tests of queues, under their names, through the whole process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import NodeProcess, run_cli, wait_until

MANIFEST = """
[app]
name = "queues"

[[triggers.queue]]
queue = "jobs"
script = "work"
visibility_timeout_secs = 2
retry_max_attempts = 2
retry_backoff = "constant"
retry_base_ms = 50
"""
WORK = """
import time
from picloud.sdk import queue

def handle(event, ctx):
    if event.payload.get("sleep") and event.attempt == 1:
        time.sleep(event.payload["sleep"])
    if event.payload.get("fail"):
        raise ValueError(f"attempt {event.attempt}")
    queue.enqueue("seen", {"n": event.payload["n"], "attempt": event.attempt, "depth": queue.depth("jobs")})
"""


@pytest.fixture
def node(reachable_dir: Path) -> Iterator[NodeProcess]:
    app = reachable_dir / "app"
    app.mkdir()
    (app / "picloud.toml").write_text(MANIFEST)
    (app / "work.py").write_text(WORK)
    env = {"PICLOUD_QUEUE_RECLAIM_INTERVAL_MS": "200", "PICLOUD_EXECUTION_TIMEOUT_SECS": "60"}
    with NodeProcess(reachable_dir / "home", str(app), env=env) as running:
        yield running


def send(node: NodeProcess, **payload: object) -> None:
    done = run_cli("send", "queues", "jobs", json.dumps(payload), home=node.home)
    assert done.returncode == 0, done.stderr


def counts(node: NodeProcess, queue: str = "jobs") -> tuple[int, int, int, int]:
    found = node.queues("queues")[queue]
    return (found["ready"], found["delayed"], found["claimed"], found["dead"])


def test_queue_receive_acks_on_success(node: NodeProcess) -> None:
    send(node, n=1)
    wait_until(lambda: node.queues("queues").get("seen", {}).get("ready") == 1, 30)
    wait_until(lambda: counts(node) == (0, 0, 0, 0), 30)
    (seen,) = node.messages("queues", "seen")
    assert seen["payload"] == {"n": 1, "attempt": 1, "depth": 0}
    trigger = node.get("/apps/queues/triggers")["items"][0]
    assert trigger["last_fired_at"] is not None


def test_queue_receive_dead_letters_after_max_attempts(node: NodeProcess) -> None:
    send(node, n=1, fail=True)
    wait_until(lambda: counts(node) == (0, 0, 0, 1), 30, lambda: counts(node))
    (dead,) = node.get("/apps/queues/dead_letters")["items"]
    assert (dead["attempts"], dead["error"]["message"], dead["error"]["line"]) == (2, "attempt 2", 9)
    assert dead["event"]["payload"] == {"n": 1, "fail": True}
    assert "seen" not in node.queues("queues")


def test_queue_one_consumer_per_queue_rejected(node: NodeProcess) -> None:
    (first,) = node.get("/apps/queues/triggers")["items"]
    with node.client() as client:
        refused = client.post("/api/v1/apps/queues/triggers/queue", json={"script": "work", "queue_name": "jobs"})
    assert refused.status_code == 409
    assert first["id"] in refused.json()["detail"]


def test_queue_visibility_timeout_reclaim(node: NodeProcess) -> None:
    send(node, n=7, sleep=30)
    wait_until(lambda: counts(node)[2] == 1, 30)
    node.kill_group()
    node.start()
    wait_until(lambda: node.queues("queues").get("seen", {}).get("ready") == 1, 30, lambda: node.queues("queues"))
    (seen,) = node.messages("queues", "seen")
    assert (seen["payload"]["n"], seen["payload"]["attempt"]) == (7, 2)
    assert counts(node) == (0, 0, 0, 0)
