"""The example, as a new user meets it: one command, then messages through the whole process."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from node_process import ROOT, NodeProcess, run_cli, wait_until

EXAMPLE = ROOT / "examples" / "github-webhooks"
REAL_EVENTS = ROOT.parent / "shared" / "data" / "github-webhooks" / "events.jsonl"


def expected_counts(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """(waiting, dead) by queue, worked out from the events alone."""
    kinds = [row["event"] for row in rows]
    scored = sum(kind in ("issues", "issue_comment") for kind in kinds)
    pushed = sum(row["event"] == "push" and bool(row["payload"].get("commits")) for row in rows)
    branches = sum(kind in ("push", "create", "delete") for kind in kinds)
    dead = kinds.count("repository_vulnerability_alert")
    return {
        "webhooks": (0, dead),
        "issues": (0, 0),
        "pushes": (0, 0),
        "digest": (scored + pushed, 0),
        "other": (len(kinds) - scored - branches - dead - kinds.count("ping"), 0),
    }


def actual_counts(node: NodeProcess) -> dict[str, tuple[int, int]]:
    counts = node.queues("github-webhooks")
    busy = sum(queue["claimed"] + queue["delayed"] for queue in counts.values())
    return {name: (queue["ready"] + (busy and 10**6), queue["dead"]) for name, queue in counts.items()}


def test_example_handles_its_own_payloads(reachable_dir: Path) -> None:
    home = reachable_dir / "home"
    with NodeProcess(home, str(EXAMPLE)) as node:
        sent = run_cli("send", "github-webhooks", "webhooks", f"@{EXAMPLE / 'payloads.jsonl'}", home=home)
        assert sent.returncode == 0, sent.stderr
        rows = [json.loads(line) for line in (EXAMPLE / "payloads.jsonl").read_text().splitlines() if line.strip()]
        expected = expected_counts(rows)
        wait_until(lambda: actual_counts(node) == expected, 60, lambda: (actual_counts(node), expected))
        assert node.stop() == 0


@pytest.mark.skipif(not REAL_EVENTS.is_file(), reason="the real payloads are not beside the repository")
def test_example_handles_the_real_payloads(reachable_dir: Path) -> None:
    home = reachable_dir / "home"
    with NodeProcess(home, str(EXAMPLE)) as node:
        sent = run_cli("send", "github-webhooks", "webhooks", f"@{REAL_EVENTS}", home=home)
        assert sent.returncode == 0, sent.stderr
        rows = [json.loads(line) for line in REAL_EVENTS.read_text().splitlines()]
        assert len(rows) == 110
        expected = expected_counts(rows)
        wait_until(lambda: actual_counts(node) == expected, 60, lambda: (actual_counts(node), expected))
        assert node.stop(signal.SIGINT) == 0
