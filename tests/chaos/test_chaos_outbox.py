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
    time.sleep(0.004)
    queue.enqueue("out", event.body)
"""


def write_app(folder: Path) -> Path:
    folder.mkdir()
    for name, text in {"picloud.toml": MANIFEST, "ask.py": ASK, "later.py": LATER}.items():
        (folder / name).write_text(text)
    return folder


def ask_for_all(node: NodeProcess) -> None:
    """Have all rows written."""
    lines = "\n".join(map(str, range(ROWS // EACH)))
    sent = run_cli("send", "chaos", "in", "-", home=node.home, stdin=lines)
    assert sent.returncode == 0, sent.stderr


def test_node_that_ends_in_order_leaves_no_row_claimed_and_none_dead(database: str, tmp_path: Path) -> None:
    app, home = write_app(tmp_path / "app"), tmp_path / "home"
    with NodeProcess(home, str(app), env={"DATABASE_URL": database}) as node:
        ask_for_all(node)
        wait_until(lambda: count_effects(node) > 0, 60, lambda: node.queues("chaos"))
        assert node.stop() == 0
    with psycopg.connect(database) as conn:
        assert conn.execute("select count(*) from outbox where claim_token is not null or attempt > 0").fetchone() == (
            0,
        )
        assert conn.execute("select count(*) from dead_letters").fetchone() == (0,)
        left = conn.execute("select event -> 'body' from outbox").fetchall()
        done = conn.execute("select payload from queue_messages where queue_name = 'out'").fetchall()
        asked = conn.execute("select payload from queue_messages where queue_name = 'in'").fetchall()
    ended = collections.Counter(value for (value,) in left + done)
    waiting = collections.Counter(start * EACH + n for (start,) in asked for n in range(EACH))
    assert ended + waiting == collections.Counter(range(ROWS))


def test_rows_whose_node_was_killed_end_once_in_effects_or_in_dead_letters(database: str, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    app, home = write_app(tmp_path / "app"), tmp_path / "home"
    environment = {"DATABASE_URL": database, "PICLOUD_QUEUE_RECLAIM_INTERVAL_MS": "200"}
    with NodeProcess(home, str(app), env=environment) as node:
        ask_for_all(node)
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
            expire_leases(database)
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
    with psycopg.connect(database) as conn:
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


def expire_leases(database: str) -> None:
    """Let the leases of the node that died be as old as they would be after a while."""
    with psycopg.connect(database) as conn:
        conn.execute("update outbox set claimed_at = claimed_at - interval '10 minutes' where claim_token is not null")
