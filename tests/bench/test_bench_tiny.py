"""Each benchmark once, tiny, so that it cannot rot. Nothing here looks at a figure's size."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from node_process import run_cli

QUEUE_CASES = ["drain-noop", "drain-enqueue-one", "enqueue-single", "enqueue-batch", "latency-idle", "latency-idle-p99"]
ACTOR_CASES = ["start", "stop", "memory", "tree-snapshot", "restart", "mailbox"]
IDLE_CASES = ["idle-consumers", "idle-consumers-memory", "idle-consumers-latency", "idle-consumers-tree"]
ENGINE_CASES = [
    "noop", "typical", "attribute-calls", "arithmetic", "calls", "strings", "json", "compile", "invoke",
    "loop-lateness",
]  # fmt: skip


@pytest.mark.parametrize(
    ("suite", "cases", "size"),
    [
        ("queue", QUEUE_CASES, ("--messages", "10")),
        ("actors", ACTOR_CASES + IDLE_CASES, ("--children", "10")),
        ("engine", ENGINE_CASES, ()),
    ],
)
def test_every_case_of_a_suite_runs_and_reports_the_common_form(
    suite: str, cases: list[str], size: tuple[str, ...]
) -> None:
    done = run_cli("bench", suite, *size, "--seconds", "0.5", "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert set(report) == {"suite", "picloud", "python", "postgres", "cpus", "started_at", "results"}
    assert [result["case"] for result in report["results"]] == cases
    for result in report["results"]:
        assert set(result) == {"case", "value", "min", "max", "unit", "runs", "ratios", "params"}
        assert result["runs"] == 1
        assert result["min"] <= result["value"] <= result["max"]


def test_unknown_case_is_a_usage_error_that_names_the_cases() -> None:
    done = run_cli("bench", "engine", "--case", "nonsense")
    assert done.returncode == 2
    assert "loop-lateness" in done.stderr
