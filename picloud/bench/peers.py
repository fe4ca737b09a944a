"""Other PostgreSQL queues for Python (extra `bench`), draining no-op jobs on the same server.

Each drain runs in a process of its own: both need an asyncio loop.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import trio

from picloud.bench.side import side_database
from picloud.errors import InvalidInput

BATCH = 1000


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a peer is run: jobs fetched at once, and workers in its process."""

    batch: int
    workers: int

    def __str__(self) -> str:
        return f"batch {self.batch}, {self.workers} worker{'s' if self.workers > 1 else ''}"


TUNINGS = {
    "pgqueuer": [Tuning(1000, 1), Tuning(500, 1), Tuning(1000, 2), Tuning(500, 2)],
    "procrastinate": [Tuning(20, 1), Tuning(50, 1)],
}
"""Settings that are tried; a job of Procrastinate is fetched alone, so that its batch is its concurrency."""
SHARE = {"pgqueuer": 1, "procrastinate": 20}
"""One job of so many of ours: a slow peer need not take minutes for a rate that is the same with fewer."""


@dataclass(slots=True)
class Peer:
    """Measures one peer; the first round finds its best setting."""

    name: str
    dsn: str
    jobs: int
    rates: dict[Tuning, float] = field(default_factory=dict)

    async def drain(self) -> float:
        """Return jobs per second of the best setting found. Raises: InvalidInput."""
        count = max(10, self.jobs // SHARE[self.name])
        if not self.rates:
            for tuning in TUNINGS[self.name]:
                self.rates[tuning] = await self._drain(tuning, count)
            return max(self.rates.values())
        return await self._drain(self.best, count)

    @property
    def best(self) -> Tuning:
        """The setting with the highest rate."""
        return max(self.rates, key=lambda tuning: self.rates[tuning])

    async def _drain(self, tuning: Tuning, count: int) -> float:
        async with side_database(self.dsn) as side:
            command = [sys.executable, "-m", __name__, self.name, side]
            command += [str(count), str(tuning.batch), str(tuning.workers)]
            done = await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)
        if done.returncode != 0:
            last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no output"])[-1]
            raise InvalidInput(
                f"{self.name} cannot be measured: {last} (is it installed? pip install 'picloud[bench]')"
            )
        return float(json.loads(done.stdout)["rate"])


def check_names(names: str) -> list[str]:
    """Return the peers of a comma-separated list. Raises: InvalidInput."""
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    for name in chosen:
        if name not in TUNINGS:
            raise InvalidInput(f"no peer {name!r} (peers: {', '.join(TUNINGS)})")
    return chosen


class _Clock:
    """Counts jobs; the time goes from the first one's start."""

    def __init__(self) -> None:
        self.seen = 0
        self.began = 0.0

    async def handle(self) -> None:
        if not self.seen:
            self.began = time.perf_counter()
        self.seen += 1

    def rate(self) -> float:
        return self.seen / (time.perf_counter() - self.began)


async def drain_pgqueuer(dsn: str, count: int, tuning: Tuning) -> float:
    """Return jobs per second: enqueued before, drained by workers with a connection each."""
    import asyncio

    import asyncpg
    from pgqueuer import PgQueuer
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.queries import Queries
    from pgqueuer.types import QueueExecutionMode

    queries = Queries(AsyncpgDriver(await asyncpg.connect(**_address(dsn))))
    await queries.install()
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        await queries.enqueue(["noop"] * size, [b'{"n":1}'] * size, [0] * size)
    clock = _Clock()

    async def work() -> None:
        worker = PgQueuer(AsyncpgDriver(await asyncpg.connect(**_address(dsn))))

        async def noop(job: object) -> None:
            await clock.handle()

        worker.entrypoint("noop")(noop)
        await worker.run(batch_size=tuning.batch, mode=QueueExecutionMode.drain)

    await asyncio.gather(*(work() for _ in range(tuning.workers)))
    assert clock.seen == count, f"{clock.seen} of {count} jobs were handled"
    return clock.rate()


async def drain_procrastinate(dsn: str, count: int, tuning: Tuning) -> float:
    """Return jobs per second: deferred before, drained by one worker with so many jobs at once."""
    import procrastinate

    pool = max(10, tuning.batch // 2)
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=dsn, min_size=1, max_size=pool))
    clock = _Clock()

    async def noop(n: int) -> None:
        await clock.handle()

    task = app.task(queue="noop")(noop)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for start in range(0, count, BATCH):
            await task.batch_defer_async(*[{"n": number} for number in range(start, min(start + BATCH, count))])
        await app.connector.execute_query_async("analyze procrastinate_jobs")
        await app.run_worker_async(
            queues=["noop"],
            concurrency=tuning.batch,
            wait=False,
            install_signal_handlers=False,
            delete_jobs="always",
        )
    assert clock.seen == count, f"{clock.seen} of {count} jobs were handled"
    return clock.rate()


def _address(dsn: str) -> dict[str, str]:
    """Return what asyncpg connects by: it reads a folder of sockets in a URL otherwise than libpq does."""
    from psycopg.conninfo import conninfo_to_dict

    names = {"host": "host", "port": "port", "user": "user", "password": "password", "dbname": "database"}
    return {names[key]: str(value) for key, value in conninfo_to_dict(dsn).items() if key in names and value}


DRAINS: dict[str, Callable[[str, int, Tuning], Awaitable[float]]] = {
    "pgqueuer": drain_pgqueuer,
    "procrastinate": drain_procrastinate,
}


def main(name: str, dsn: str, count: str, batch: str, workers: str) -> None:
    """Print the rate as JSON."""
    import asyncio

    logging.disable(logging.WARNING)

    async def run() -> float:
        return await DRAINS[name](dsn, int(count), Tuning(int(batch), int(workers)))

    print(json.dumps({"rate": asyncio.run(run())}))


if __name__ == "__main__":
    main(*sys.argv[1:])
