"""Dead letters from outside: a script hears of them; one that fails itself is recorded and never fans out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from node_process import NodeProcess, run_cli, wait_until

MANIFEST = """
[app]
name = "grave"

[[triggers.queue]]
queue = "jobs"
script = "work"
retry_max_attempts = 1
"""
SCRIPTS = {
    "work.py": 'def handle(event, ctx):\n    raise ValueError(f"no {event.payload}")\n',
    "mourn.py": (
        "from picloud.sdk import queue\n\n"
        "def handle(event, ctx):\n"
        '    queue.enqueue("heard", {"payload": event.original["payload"], "error": event.error["message"], '
        '"depth": ctx.trigger_depth})\n'
    ),
    "fail.py": 'def handle(event, ctx):\n    raise RuntimeError("not again")\n',
}


def test_dead_letter_handlers_hear_of_each_new_dead_letter_once(reachable_dir: Path) -> None:
    app = reachable_dir / "app"
    app.mkdir()
    (app / "picloud.toml").write_text(MANIFEST)
    for name, source in SCRIPTS.items():
        (app / name).write_text(source)
    home = reachable_dir / "home"
    with NodeProcess(home, str(app)) as node:
        bind(node, script="mourn", queue_name="jobs")
        bind(node, script="fail", retry_max_attempts=1)
        assert run_cli("send", "grave", "jobs", "1", home=home).returncode == 0
        wait_until(lambda: node.queues("grave").get("heard", {}).get("ready") == 1, 30, lambda: node.queues("grave"))
        wait_until(lambda: len(dead(node)) == 2, 30, lambda: dead(node))
        (heard,) = node.messages("grave", "heard")
        assert heard["payload"] == {"payload": 1, "error": "no 1", "depth": 1}
        sources = sorted(letter["source"] for letter in dead(node))
        assert sources == ["dead_letter", "queue"]
        (own,) = [letter for letter in dead(node) if letter["source"] == "dead_letter"]
        assert own["error"]["message"] == "not again"
        assert own["event"]["original"]["payload"] == 1
        assert node.stop() == 0
        assert len(list_outbox(node)) == 0


def bind(node: NodeProcess, **body: Any) -> None:
    with node.client() as client:
        response = client.post("/api/v1/apps/grave/triggers/dead_letter", json=body)
    assert response.status_code == 201, response.text


def dead(node: NodeProcess) -> list[dict[str, Any]]:
    return list(node.get("/apps/grave/dead_letters")["items"])


def list_outbox(node: NodeProcess) -> list[Any]:
    """What is left in the outbox, looked at with the node's database started once more."""
    import psycopg

    from picloud.db.embedded import EmbeddedPostgres

    with EmbeddedPostgres(node.home) as postgres, psycopg.connect(postgres.dsn) as conn:
        return conn.execute("select id from outbox").fetchall()
