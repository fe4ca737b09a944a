"""A long time at a steady rate: whether memory, table and latency stay where they are."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trio

from picloud.bench.feeding import PATIENCE, empty, make_messages, poll, send
from picloud.bench.measure import Figure, read_resident_bytes
from picloud.bench.node import BenchNode
from picloud.bench.plot import Chart, draw
from picloud.db.sqlfile import load
from picloud.engine import Outcome, QueueEvent

TICK = 0.01
"""Seconds between two batches that come in."""
QUEUE = "soak"

_sql = load("bench")


@dataclass(frozen=True, slots=True)
class Sample:
    """One second of the soak."""

    at: float
    memory_mb: float
    table_mb: float
    latency_ms: float
    rate: float


class Soak:
    """Messages in and out at `rate` per second; a sample every second."""

    def __init__(self, node: BenchNode, *, rate: int, seconds: float, plot: Path | None) -> None:
        self._node = node
        self._rate = rate
        self._seconds = seconds
        self._plot = plot
        self._waits: list[float] = []

    def note_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Take how long each message was under way until it was handled; by the server's clock, which is this one's."""
        now = time.time()
        for outcome in outcomes:
            event = outcome.job.event
            if isinstance(event, QueueEvent) and event.queue == QUEUE:
                self._waits.append((now - event.enqueued_at.timestamp()) * 1000)

    async def run(self) -> Figure:
        """Return the median latency in ms; the ratios compare the last fifth of the time with the second."""
        samples: list[Sample] = []
        with trio.fail_after(PATIENCE):
            await poll(lambda: self._node.is_running(QUEUE))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._send)
            began = trio.current_time()
            handled = self._node.processed(QUEUE)
            for second in range(1, max(5, round(self._seconds)) + 1):
                await trio.sleep_until(began + second * self._seconds / max(5, round(self._seconds)))
                samples.append(await self._sample(trio.current_time() - began, handled))
                handled = self._node.processed(QUEUE)
            nursery.cancel_scope.cancel()
        await empty(self._node, QUEUE)
        if self._plot is not None:
            await trio.Path(self._plot).write_text(draw(_charts(samples)), encoding="utf-8")
        return _summarise(samples)

    async def _send(self) -> None:
        """Send what is due by the clock: a tick that came late is made up for."""
        began, sent = trio.current_time(), 0
        async with self._node.parts.pool.connection() as conn:
            while True:
                await trio.sleep(TICK)
                due = int((trio.current_time() - began) * self._rate) - sent
                if due > 0:
                    await send(conn, self._node.app.id, make_messages(QUEUE, range(due)))
                    self._node.wake(QUEUE)
                    sent += due

    async def _sample(self, at: float, handled: int) -> Sample:
        waits, self._waits = self._waits, []
        async with self._node.parts.pool.connection() as conn:
            row = await (await conn.execute(_sql.measure_messages)).fetchone()
        assert row is not None
        rate = (self._node.processed(QUEUE) - handled) * max(5, round(self._seconds)) / self._seconds
        latency = statistics.median(waits) if waits else 0.0
        return Sample(at, read_resident_bytes() / 1e6, row[0] / 1e6, latency, rate)


def _charts(samples: Sequence[Sample]) -> list[Chart]:
    seconds = [sample.at for sample in samples]
    return [
        Chart("memory of the node, MB", seconds, [sample.memory_mb for sample in samples]),
        Chart("table of messages with indexes, MB", seconds, [sample.table_mb for sample in samples]),
        Chart("from enqueue to handled, ms (median of each second)", seconds, [s.latency_ms for s in samples]),
        Chart("handled per second", seconds, [sample.rate for sample in samples]),
    ]


def _summarise(samples: Sequence[Sample]) -> Figure:
    fifth = len(samples) // 5
    # the first fifth fills caches and free space
    early, late = samples[fifth : 2 * fifth], samples[-fifth:]

    def grown(pick: str) -> float:
        before = statistics.median([getattr(sample, pick) for sample in early])
        return float(statistics.median([getattr(sample, pick) for sample in late]) / before) if before else 1.0

    return Figure(
        statistics.median([sample.latency_ms for sample in samples]),
        {"rate": statistics.median([sample.rate for sample in samples])},
        {"memory": grown("memory_mb"), "table": grown("table_mb"), "latency": grown("latency_ms")},
    )
