"""kill -9 while `invoke_async` rows are delivered: each ends once, in its effects or in the dead letters."""

from __future__ import annotations

import collections
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from node_process import NodeProcess, run_cli, wait_until

from picloud.db.embedded import EmbeddedPostgres

KILLS = 5 if os.environ.get("PICLOUD_TEST_CHAOS") == "long" else 1
ROWS, EACH = 2000, 100
SEED = int(os.environ.get("PICLOUD_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)

MANIFEST = """
[app]
name = "chaos"

[[triggers.queue]]
queue = "in"
script = "ask"
visibility_timeout_secs = 1
retry_max_attempts = 50
"""
ASK = f"""
from picloud.sdk import invoke_async

def handle(event, ctx):
    for n in range({EACH}):
        invoke_async("later", event.payload * {EACH} + n)
"""
LATER = """
import time
from picloud.sdk import queue

def handle(event, ctx):
    time.sleep(0.001)
    queue.enqueue("out", event.body)
"""


def test_rows_whose_node_was_killed_end_once_in_effects_or_in_dead_letters(reachable_dir: Path) -> None:
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    app, home = reachable_dir / "app", reachable_dir / "home"
    app.mkdir()
    for name, text in {"picloud.toml": MANIFEST, "ask.py": ASK, "later.py": LATER}.items():
        (app / name).write_text(text)
    (reachable_dir / "in.jsonl").write_text("\n".join(map(str, range(ROWS // EACH))))
    with NodeProcess(home, str(app), env={"PICLOUD_QUEUE_RECLAIM_INTERVAL_MS": "200"}) as node:
        assert run_cli("send", "chaos", "in", f"@{reachable_dir / 'in.jsonl'}", home=home).returncode == 0
        for _ in range(KILLS):
            seen = count_effects(node)
            # in the middle of it, wherever that is
            wait_until(
                lambda: count_effects(node) > seen or has_ended(node),  # noqa: B023
                60,
                lambda: node.queues("chaos"),
            )
            time.sleep(dice.uniform(0.0, 0.3))
            node.kill_group()
            expire_leases(node)
            node.start()
        wait_until(lambda: has_ended(node), 120, lambda: node.queues("chaos"))
        effects = [message["payload"] for message in node.messages("chaos", "out")]
        buried = dead(node)
        print(f"{KILLS} kills: {len(effects)} took effect, {len(buried)} are dead letters")
        ended = collections.Counter(effects) + collections.Counter(letter["event"]["body"] for letter in buried)
        assert ended == collections.Counter(range(ROWS))
        # it runs once: whether it did in the node that died, nobody knows
        assert {(letter["source"], letter["reason"]) for letter in buried} <= {("invoke", "lease_expired")}
        assert len(effects) > ROWS / 2
        assert node.stop() == 0
    with EmbeddedPostgres(home) as postgres, psycopg.connect(postgres.dsn) as conn:
        assert conn.execute("select id from outbox").fetchall() == []


def count_effects(node: NodeProcess) -> int:
    return int(node.queues("chaos").get("out", {}).get("ready", 0))


def has_ended(node: NodeProcess) -> bool:
    return count_effects(node) + len(dead(node)) >= ROWS


def dead(node: NodeProcess) -> list[dict[str, Any]]:
    with node.client() as client:
        items: list[dict[str, Any]] = []
        cursor = None
        while True:
            params = {"limit": 1000} | ({"cursor": cursor} if cursor else {})
            page = client.get("/api/v1/apps/chaos/dead_letters", params=params).json()
            items += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return items


def expire_leases(node: NodeProcess) -> None:
    """Let the leases of the node that died be as old as they would be after a while."""
    with EmbeddedPostgres(node.home) as postgres, psycopg.connect(postgres.dsn) as conn:
        conn.execute("update outbox set claimed_at = claimed_at - interval '10 minutes' where claim_token is not null")
