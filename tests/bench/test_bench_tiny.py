"""Each benchmark once, tiny, so that it cannot rot. Nothing here looks at a figure's size."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from node_process import run_cli

QUEUE_CASES = [
    "drain-noop", "drain-enqueue-one", "drain-cpu-5ms", "drain-sleep-50ms", "invoke-async", "enqueue-single",
    "enqueue-batch", "enqueue-http-single", "enqueue-http-bulk", "latency-idle", "latency-idle-other-node", "fairness",
    "many-queues",
]  # fmt: skip
LONG_CASES = ["claim-backlog", "claim-pinned-xmin"]
COMMON = {"case", "value", "min", "max", "unit", "runs", "ratios", "params"}
CPU = {"loop_us", "threads_us", "server_us"}
MORE = {
    **dict.fromkeys(("drain-enqueue-one", "drain-cpu-5ms", "drain-sleep-50ms"), CPU),
    "drain-noop": CPU | {f"unrecorded_{name}" for name in CPU} | {"ceiling_server_us"},
    "latency-idle": {"p99"},
    "latency-idle-other-node": {"p99"},
    "fairness": {"p50"},
    "claim-backlog": {"small"},
    "claim-pinned-xmin": {"rate"},
    "soak": {"rate"},
}
RATIOS = {
    "drain-noop": {"ceiling", "unrecorded"},
    "many-queues": {"cost"},
    "claim-backlog": {"growth"},
    "soak": {"memory", "table", "latency"},
    "fn-noop": {"bare"},
    "fn-p99": {"bare"},
}
ACTOR_CASES = ["start", "stop", "memory", "tree-snapshot", "restart", "mailbox"]
IDLE_CASES = ["idle-consumers", "idle-consumers-memory", "idle-consumers-latency", "idle-consumers-tree"]
ENGINE_CASES = [
    "noop", "typical", "attribute-calls", "arithmetic", "calls", "strings", "json", "compile", "invoke",
    "loop-lateness",
]  # fmt: skip


@pytest.mark.parametrize(
    ("suite", "cases", "size"),
    [
        ("queue", QUEUE_CASES, ("--messages", "10", "--ceiling")),
        ("queue", LONG_CASES, ("--messages", "10", *(part for name in LONG_CASES for part in ("--case", name)))),
        ("actors", ACTOR_CASES + IDLE_CASES, ("--children", "10")),
        ("engine", ENGINE_CASES, ()),
        ("http", ["fn-noop", "fn-p99"], ()),
    ],
)
def test_every_case_of_a_suite_runs_and_reports_the_common_form(
    suite: str, cases: list[str], size: tuple[str, ...]
) -> None:
    done = run_cli("bench", suite, *size, "--seconds", "0.5", "--runs", "1", "--warm-ups", "0", "--json")
    assert done.returncode == 0, done.stderr
    check_form(json.loads(done.stdout), cases, runs=1)


def check_form(report: dict[str, Any], cases: list[str], *, runs: int) -> None:
    assert set(report) == {"suite", "picloud", "python", "postgres", "cpus", "started_at", "results"}
    assert [result["case"] for result in report["results"]] == cases
    for result in report["results"]:
        assert set(result) == COMMON | MORE.get(result["case"], set())
        assert set(result["ratios"]) == RATIOS.get(result["case"], set())
        assert result["runs"] == runs
        assert result["min"] <= result["value"] <= result["max"]


def test_unknown_case_is_a_usage_error_that_names_the_cases() -> None:
    done = run_cli("bench", "engine", "--case", "nonsense")
    assert done.returncode == 2
    assert "loop-lateness" in done.stderr


def test_soak_draws_its_charts(tmp_path: Path) -> None:
    plot = tmp_path / "soak.svg"
    done = run_cli("bench", "queue", "--case", "soak", "--seconds", "0.5", "--plot", str(plot), "--json")
    assert done.returncode == 0, done.stderr
    check_form(json.loads(done.stdout), ["soak"], runs=1)
    drawn = ElementTree.parse(plot).getroot()
    lines = [element for element in drawn.iter() if element.tag.endswith("polyline")]
    assert [len(line.attrib["points"].split()) for line in lines] == [5, 5, 5, 5]


@pytest.mark.parametrize("peer", ["pgqueuer", "procrastinate"])
def test_peer_drains_the_same_work(peer: str) -> None:
    pytest.importorskip(peer)
    done = run_cli(
        "bench", "queue", "--case", "drain-noop", "--messages", "50", "--runs", "1", "--peers", peer, "--json"
    )
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert result["ratios"][peer] > 0


def test_unknown_peer_is_named() -> None:
    done = run_cli("bench", "queue", "--peers", "nonsense")
    assert done.returncode == 1
    assert "pgqueuer, procrastinate" in done.stderr
