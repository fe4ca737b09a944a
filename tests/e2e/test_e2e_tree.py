"""The supervision tree of a real process: drain, an outage of the database, and an actor that cannot be kept."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from node_process import HANG_LIMIT, NodeProcess, clean_environment, run_cli, wait_until

from picloud.db.embedded import EmbeddedPostgres

APP = """
[app]
name = "tree"

[[triggers.queue]]
queue = "jobs"
script = "work"
batch_size = 1
"""
SLOW = """
import time
from picloud.sdk import queue

def handle(event, ctx):
    time.sleep(event.payload["secs"])
    queue.enqueue("done", event.payload)
"""


@pytest.fixture
def app_folder(reachable_dir: Path) -> Path:
    folder = reachable_dir / "app"
    folder.mkdir()
    (folder / "picloud.toml").write_text(APP)
    (folder / "work.py").write_text(SLOW)
    return folder


@pytest.fixture
def other_postgres(reachable_dir: Path) -> Iterator[EmbeddedPostgres]:
    """A server that the test may stop."""
    home = reachable_dir / "server"
    home.mkdir(mode=0o711)
    server = EmbeddedPostgres(home, settings={"fsync": "off"})
    server.start()
    try:
        yield server
    finally:
        server.stop()


def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All actors of a tree."""
    yield node
    for child in node.get("children") or ():
        yield from walk(child)


def test_drain_finishes_what_runs_gives_back_the_rest_and_refuses_new_connections(
    reachable_dir: Path, app_folder: Path
) -> None:
    node = NodeProcess(reachable_dir / "home", str(app_folder))
    with node:
        with node.client() as client:
            messages = [{"payload": {"secs": 1.5, "n": n}} for n in range(5)]
            client.post("/api/v1/apps/tree/queues/jobs/messages", json={"messages": messages}).raise_for_status()
        wait_until(lambda: node.queues("tree")["jobs"]["claimed"] > 0, HANG_LIMIT)
        url = node.credentials["url"]
        assert node.process is not None
        node.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "draining" in node.log.read_text(), HANG_LIMIT)
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{url}/readyz", timeout=5.0)
        assert node.process.wait(timeout=HANG_LIMIT) == 0
    (app_folder / "picloud.toml").write_text(APP.replace('queue = "jobs"', 'queue = "none"'))
    with node:
        counts = node.queues("tree")
        # nothing is claimed, nothing is lost, what ran took effect
        assert counts["jobs"]["claimed"] == 0
        assert counts["done"]["ready"] >= 1
        assert counts["jobs"]["ready"] + counts["jobs"]["delayed"] + counts["done"]["ready"] == 5
        assert [message["attempt"] for message in node.messages("tree", "jobs")] == [0] * counts["jobs"]["ready"]


def test_outage_of_the_database_is_shown_waited_out_and_costs_no_restart(
    reachable_dir: Path, app_folder: Path, other_postgres: EmbeddedPostgres
) -> None:
    with NodeProcess(reachable_dir / "home", str(app_folder), env={"DATABASE_URL": other_postgres.dsn}) as node:
        url = node.credentials["url"]
        before = {actor["path"]: actor["incarnation"] for actor in walk(node.get("/supervisor"))}
        other_postgres.stop()
        wait_until(lambda: httpx.get(f"{url}/readyz", timeout=30.0).status_code == 503, HANG_LIMIT)
        assert "/picloud/database" in httpx.get(f"{url}/readyz", timeout=30.0).text
        assert httpx.get(f"{url}/healthz", timeout=5.0).status_code == 200

        other_postgres.start()
        wait_until(lambda: httpx.get(f"{url}/readyz", timeout=30.0).status_code == 200, HANG_LIMIT)
        assert run_cli("send", "tree", "jobs", '{"secs": 0}', home=node.home).returncode == 0
        wait_until(lambda: node.queues("tree").get("done", {}).get("ready") == 1, HANG_LIMIT)
        # each comes back in its own time: the one that listens may be the last
        wait_until(lambda: all(actor["health"]["state"] == "ok" for actor in walk(node.get("/supervisor"))), HANG_LIMIT)
        actors = list(walk(node.get("/supervisor")))
        assert {actor["path"]: actor["incarnation"] for actor in actors} == before
        assert [actor["path"] for actor in actors if actor["restart_count"]] == []


def test_actor_that_cannot_be_kept_running_ends_the_node_with_code_70_and_says_which(reachable_dir: Path) -> None:
    program = """
from picloud.actors.reclaim import Reclaim

async def sweep(self):
    raise RuntimeError("a bug of ours")

Reclaim.sweep = sweep
from picloud.app import main
main()
"""
    home = reachable_dir / "home"
    done = subprocess.run(
        [sys.executable, "-c", program, "up", "--port", "0", "--data-dir", str(home)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=HANG_LIMIT,
        check=False,
    )
    assert done.returncode == 70, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "the node gives up" in last
    assert "/picloud/services/reclaim" in last
    assert "a bug of ours" in last
    # each exit on its way there: one line with OTP's fields
    assert '"child_id": "reclaim"' in done.stderr
    assert '"context": "child_terminated"' in done.stderr
    assert not (home / "pg" / "postmaster.pid").exists()


def test_process_whose_loop_does_not_turn_any_more_ends_and_its_message_is_handled_after_the_restart(
    reachable_dir: Path, app_folder: Path
) -> None:
    program = """
from picloud.actors.execution_log import ExecutionLog

def hold_the_interpreter(self, outcomes):
    if any(outcome.messages for outcome in outcomes):
        sum(range(10**12))

ExecutionLog.__call__ = hold_the_interpreter
from picloud.app import main
main()
"""
    home = reachable_dir / "home"
    (app_folder / "picloud.toml").write_text(APP + "visibility_timeout_secs = 2\n")
    env = {"PICLOUD_HANG_TIMEOUT_SECS": "1", "PICLOUD_QUEUE_RECLAIM_INTERVAL_MS": "200"}
    broken = NodeProcess(home, str(app_folder), env=env, program=(sys.executable, "-c", program))
    with broken:
        assert run_cli("send", "tree", "jobs", '{"secs": 0}', home=home).returncode == 0
        assert broken.process is not None
        assert broken.process.wait(timeout=HANG_LIMIT) == 1
        assert "Timeout" in broken.log.read_text()
        assert "hold_the_interpreter" in broken.log.read_text()
    with NodeProcess(home, str(app_folder), env={"PICLOUD_QUEUE_RECLAIM_INTERVAL_MS": "200"}) as node:
        wait_until(lambda: node.queues("tree").get("done", {}).get("ready") == 1, HANG_LIMIT)
        assert node.queues("tree")["jobs"]["dead"] == 0
