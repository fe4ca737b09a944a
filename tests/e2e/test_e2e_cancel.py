"""Cancelling what runs, from a node that does not run it, through the whole process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from node_process import NodeProcess, run_cli, wait_until

MANIFEST = """
[app]
name = "slow"

[[triggers.queue]]
queue = "jobs"
script = "work"
"""
WORK = """
import time
from picloud.sdk import queue

def handle(event, ctx):
    queue.enqueue("left", 1)
    while True:
        try:
            time.sleep(100)
        except Exception:
            pass
"""


def test_any_node_cancels_an_execution_and_its_message_is_discarded(reachable_dir: Path, database: str) -> None:
    app = reachable_dir / "app"
    app.mkdir()
    (app / "picloud.toml").write_text(MANIFEST)
    (app / "work.py").write_text(WORK)
    env = {"DATABASE_URL": database, "PICLOUD_EXECUTION_TIMEOUT_SECS": "120"}
    home = reachable_dir / "a"
    with NodeProcess(home, str(app), env=env) as first, NodeProcess(reachable_dir / "b", env=env) as second:
        with first.client() as client:
            assert client.post("/api/v1/apps/slow/queues/jobs/messages", json={"payload": 1}).status_code == 201
        token = first.credentials["token"]
        urls = [node.credentials["url"] for node in (first, second)]

        def ask(url: str, path: str) -> Any:
            with first.client() as client:
                response = client.get(f"{url}/api/v1{path}")
            assert response.status_code == 200, response.text
            return response.json()

        listing = "/apps/slow/executions/running"
        wait_until(lambda: all(ask(url, listing)["items"] for url in urls), 60)
        (running,) = ask(urls[0], listing)["items"]
        ((here, other),) = [(a, b) for a, b in (urls, urls[::-1]) if runs(ask(a, "/supervisor"))]
        assert runs(ask(here, "/supervisor")) == [running["id"]]
        done = run_cli("cancel", "slow", running["id"], "--discard", "--json", "--url", other, "--token", token)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"execution_id": running["id"], "status": "requested", "discard": True}
        graves = "/apps/slow/dead_letters?include_resolved=true"
        wait_until(lambda: ask(other, graves)["items"], 30)
        (dead,) = ask(other, graves)["items"]
        assert (dead["reason"], dead["resolution"], dead["error"]["type"]) == ("cancelled", "discarded", "Cancelled")
        assert dead["event"]["payload"] == 1
        (jobs,) = ask(here, "/apps/slow/queues")["items"]
        assert [jobs[name] for name in ("name", "ready", "delayed", "claimed", "dead")] == ["jobs", 0, 0, 0, 0]
        wait_until(lambda: not any(ask(url, listing)["items"] for url in urls), 30)


def runs(tree: dict[str, Any]) -> list[str]:
    """The executions that the node of a tree runs."""
    (services,) = [child for child in tree["children"] if child["id"] == "services"]
    (actor,) = [child for child in services["children"] if child["id"] == "running"]
    return [one["execution_id"] for one in actor["details"]["longest"]]
