"""Every known attack, through the product's own engine: none gets out, hangs, crashes us or stalls the loop."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FOLDERS = ("corpus", "own")
"""Attacks that are known from elsewhere, and those that were found here."""
ATTACKS = {path.stem: path for folder in FOLDERS for path in sorted((HERE / folder).glob("*.py"))}
WORKERS = 2
LIMIT = 0.6 + 1.0
"""Seconds: the worker's wall limit, and a second."""
WORST_STALL = 0.5


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    """What became of each script."""
    with ThreadPoolExecutor(WORKERS) as pool:
        shares = pool.map(run_share, [list(ATTACKS.values())[at::WORKERS] for at in range(WORKERS)])
    found = {name: entry for share in shares for name, entry in share.items()}
    for _ in range(2):
        # on a machine that is busy with other things; what a script does itself, it does again
        for name in [name for name, entry in found.items() if is_late(name, entry)]:
            found |= run_share([ATTACKS[name]])
    return found


def is_late(name: str, entry: dict[str, Any]) -> bool:
    """Tell whether a script, or the loop beside it, took longer than it may."""
    return entry.get("late", 0) >= WORST_STALL or entry.get("seconds", 0) >= longest(name)


def longest(name: str) -> float:
    return LIMIT * (2 if name.startswith("leak_") else 1)


def run_share(paths: list[Path]) -> dict[str, dict[str, Any]]:
    """Run scripts in a process; go on behind one that ended the process."""
    found: dict[str, dict[str, Any]] = {}
    while paths:
        done = subprocess.run(
            [sys.executable, str(HERE / "corpus_worker.py")],
            input="\n".join(map(str, paths)),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        for line in done.stdout.splitlines():
            entry = json.loads(line)
            found.setdefault(entry["script"], {"how": "crashed", "text": done.stderr[-500:]}).update(entry)
        crashed = [name for name, entry in found.items() if entry["how"] == "crashed" and "seconds" not in entry]
        last = crashed[-1] if crashed else None
        paths = [p for p in paths if p.stem not in found] if last else []
        assert last or done.returncode == 0, done.stderr
    return found


def test_names_do_not_collide() -> None:
    assert len(ATTACKS) == sum(len(list((HERE / folder).glob("*.py"))) for folder in FOLDERS)


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_blocked(name: str, results: dict[str, dict[str, Any]]) -> None:
    found = results[name]
    assert found["how"] != "crashed", found
    assert found["how"] in ("rejected", "failed") or found["text"] == "blocked", found
    assert found["seconds"] < longest(name), found
    assert found["late"] < WORST_STALL, found
    if "expected: rejected at compile" in ATTACKS[name].read_text().split("\n", 1)[0]:
        assert found["how"] == "rejected", found
