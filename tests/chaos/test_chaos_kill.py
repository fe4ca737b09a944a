"""kill -9 at random moments while messages flow: nothing lost, every message handled, no effect twice.

Short and seeded in CI; `PICLOUD_TEST_CHAOS=long` runs 5,000 messages through five kills.
"""

from __future__ import annotations

import collections
import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from node_process import NodeProcess, run_cli, wait_until

LONG = os.environ.get("PICLOUD_TEST_CHAOS") == "long"
MESSAGES = 5000 if LONG else 1200
KILLS = 5 if LONG else 2
SEED = int(os.environ.get("PICLOUD_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)

MANIFEST = """
[app]
name = "chaos"

[[triggers.queue]]
queue = "in"
script = "first"
visibility_timeout_secs = 1
retry_max_attempts = 50

[[triggers.queue]]
queue = "middle"
script = "second"
visibility_timeout_secs = 1
retry_max_attempts = 50
"""
FIRST = """
import time
from picloud.sdk import queue

def handle(event, ctx):
    time.sleep(0.001)
    queue.enqueue("middle", event.payload)
"""
SECOND = """
import time
from picloud.sdk import queue

def handle(event, ctx):
    time.sleep(0.001)
    queue.enqueue("out", event.payload)
"""
FAST_RECLAIM = {"PICLOUD_QUEUE_RECLAIM_INTERVAL_MS": "200"}


def write_app(folder: Path) -> Path:
    folder.mkdir()
    (folder / "picloud.toml").write_text(MANIFEST)
    (folder / "first.py").write_text(FIRST)
    (folder / "second.py").write_text(SECOND)
    return folder


def test_kill_nine_of_the_process_group_loses_nothing_and_repeats_no_effect(reachable_dir: Path) -> None:
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    home = reachable_dir / "home"
    app = write_app(reachable_dir / "app")
    lines = "\n".join(f'{{"n": {n}}}' for n in range(MESSAGES))
    (reachable_dir / "messages.jsonl").write_text(lines)
    with NodeProcess(home, str(app), env=FAST_RECLAIM) as node:
        sent = run_cli("send", "chaos", "in", f"@{reachable_dir / 'messages.jsonl'}", home=home)
        assert sent.returncode == 0, sent.stderr
        for number in range(KILLS):
            time.sleep(dice.uniform(0.0, 1.2))
            postmaster = node.postmaster_pid()
            node.kill_group()
            if number % 2:
                # the database dies with the node
                with contextlib.suppress(ProcessLookupError):
                    os.kill(postmaster, signal.SIGKILL)
            node.start()
        wait_until(
            lambda: node.queues("chaos").get("out", {}).get("ready") == MESSAGES, 120, lambda: node.queues("chaos")
        )
        counts = node.queues("chaos")
        assert {name: (q["ready"], q["delayed"], q["claimed"], q["dead"]) for name, q in counts.items()} == {
            "in": (0, 0, 0, 0),
            "middle": (0, 0, 0, 0),
            "out": (MESSAGES, 0, 0, 0),
        }
        effects = collections.Counter(message["payload"]["n"] for message in node.messages("chaos", "out"))
        assert effects == collections.Counter(range(MESSAGES))
        assert node.stop() == 0
