"""Dead letters from outside: a script hears of them; one that fails itself is recorded and never fans out again."""

from __future__ import annotations

from collections import Counter
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

[[triggers.queue]]
queue = "other"
script = "work"
retry_max_attempts = 1

[[triggers.dead_letter]]
script = "mourn"
queue = "jobs"

[[triggers.dead_letter]]
script = "fail"
retry_max_attempts = 1

[[triggers.dead_letter]]
script = "never"
source = "cron"
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
    "never.py": 'def handle(event, ctx):\n    queue.enqueue("heard", "what for?")\n',
}
MESSAGES = 50


def test_dead_letter_handlers_hear_of_each_new_dead_letter_once(reachable_dir: Path) -> None:
    app = reachable_dir / "app"
    app.mkdir()
    (app / "picloud.toml").write_text(MANIFEST)
    for name, source in SCRIPTS.items():
        (app / name).write_text(source)
    home = reachable_dir / "home"
    with NodeProcess(home, str(app)) as node:
        (reachable_dir / "jobs.jsonl").write_text("\n".join(map(str, range(MESSAGES))))
        assert run_cli("send", "grave", "jobs", f"@{reachable_dir / 'jobs.jsonl'}", home=home).returncode == 0
        assert run_cli("send", "grave", "other", "99", home=home).returncode == 0
        # each of them dies, and so does the handler of each that fails
        expected = {"queue": MESSAGES + 1, "dead_letter": MESSAGES + 1}
        wait_until(lambda: Counter(letter["source"] for letter in dead(node)) == expected, 60, lambda: dead(node))
        wait_until(lambda: node.queues("grave")["heard"]["ready"] >= MESSAGES, 30, lambda: node.queues("grave"))
        heard = [message["payload"] for message in node.messages("grave", "heard")]
        assert sorted(one["payload"] for one in heard) == list(range(MESSAGES))
        assert {(one["error"], one["depth"]) for one in heard} == {(f"no {n}", 1) for n in range(MESSAGES)}
        own = [letter for letter in dead(node) if letter["source"] == "dead_letter"]
        assert {letter["error"]["message"] for letter in own} == {"not again"}
        assert sorted(letter["event"]["original"]["payload"] for letter in own) == [*range(MESSAGES), 99]
        assert node.stop() == 0
        assert len(list_outbox(node)) == 0


def dead(node: NodeProcess) -> list[dict[str, Any]]:
    return list(node.get("/apps/grave/dead_letters", limit=1000)["items"])


def list_outbox(node: NodeProcess) -> list[Any]:
    """What is left in the outbox, looked at with the node's database started once more."""
    import psycopg

    from picloud.db.embedded import EmbeddedPostgres

    with EmbeddedPostgres(node.home) as postgres, psycopg.connect(postgres.dsn) as conn:
        return conn.execute("select id from outbox").fetchall()
