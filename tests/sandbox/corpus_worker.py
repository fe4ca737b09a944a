"""Run attack scripts through the product's engine in a worker thread, and measure the event loop meanwhile.

A process of its own: a script that crashes the interpreter must fail one test, not the run. Prints one JSON line before
and one after each script.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import trio

from picloud.engine import Engine, EngineSettings, Event, Job, Outcome
from picloud.engine.sandbox import prepare_process
from picloud.errors import ScriptInvalid
from picloud.types import AppId, MessageId, NewMessage

WALL_LIMIT = 0.6
CPU_LIMIT = 0.4
ENDLESS = ("evade_", "loop_", "spin_", "toctou_")
"""Attacks that go round and round from their first line: what they do later, they did at once."""
ENDLESS_WALL_LIMIT = 0.3
ENDLESS_CPU_LIMIT = 0.15
APPS = (AppId(uuid4()), AppId(uuid4()))


@dataclass(frozen=True, slots=True)
class CorpusEvent(Event):
    """What the corpus expects: `event["run"]` counts the executions."""

    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"run", "payload"})
    run: int
    payload: Any = None

    def __getitem__(self, name: str) -> Any:
        return {"run": self.run, "payload": self.payload}[name]


class NoWorld:
    """A world with nothing in it."""

    def find_script(self, app_id: AppId, name: str) -> None:
        return None

    def count_depth(self, app_id: AppId, queue_name: str) -> tuple[int, int]:
        return (0, 0)

    def send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        return []


async def main(paths: list[Path]) -> None:
    prepare_process()
    engine = make_engine(WALL_LIMIT, CPU_LIMIT)
    quick = make_engine(ENDLESS_WALL_LIMIT, ENDLESS_CPU_LIMIT)
    for path in paths:
        say({"script": path.stem})
        say({"script": path.stem, **await attack(quick if path.stem.startswith(ENDLESS) else engine, path)})
    engine.close()
    quick.close()


def make_engine(wall: float, cpu: float) -> Engine:
    return Engine(EngineSettings(timeout_secs=wall, cpu_secs=cpu, memory_growth_bytes=400 * 1024 * 1024), NoWorld())


async def attack(engine: Engine, path: Path) -> dict[str, Any]:
    """Run one script; leaks run twice, as two apps."""
    lateness = Lateness()
    began = time.monotonic()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lateness.watch)
        found = await trio.to_thread.run_sync(run, engine, path)
        nursery.cancel_scope.cancel()
    return {**found, "seconds": time.monotonic() - began, "late": lateness.worst}


def run(engine: Engine, path: Path) -> dict[str, Any]:
    try:
        script = engine.compile(path.stem, path.read_text())
    except ScriptInvalid as invalid:
        return {"how": "rejected", "text": invalid.faults[0].message}
    times = 2 if path.stem.startswith("leak_") else 1
    outcomes: list[Outcome] = []
    for number in range(times):
        job = Job(APPS[number], f"app-{number}", script, 1, CorpusEvent(number + 1))
        outcomes += engine.run_slice([job], slice_secs=10.0)
    last = outcomes[-1]
    if last.error is not None:
        return {"how": "failed", "text": f"{last.error.type}: {last.error.message}"}
    return {"how": "returned", "text": last.value}


class Lateness:
    """How late the event loop was at worst."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def watch(self) -> None:
        while True:
            due = trio.current_time() + 0.01
            await trio.sleep_until(due)
            self.worst = max(self.worst, trio.current_time() - due)


def say(what: dict[str, Any]) -> None:
    print(json.dumps(what, default=str), flush=True)


if __name__ == "__main__":
    trio.run(main, [Path(line) for line in sys.stdin.read().splitlines()])
