"""The example, as a new user meets it: one command, then messages through the whole process."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from node_process import ROOT, NodeProcess, run_cli, wait_until

EXAMPLE = ROOT / "examples" / "github-webhooks"
REAL_EVENTS = ROOT.parent / "shared" / "data" / "github-webhooks" / "events.jsonl"


def settled(node: NodeProcess, app: str, *queues: str) -> bool:
    counts = node.queues(app)
    return all(counts[q]["ready"] + counts[q]["delayed"] + counts[q]["claimed"] == 0 for q in queues if q in counts)


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
