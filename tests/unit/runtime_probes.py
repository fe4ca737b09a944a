"""Actors that do as they are told, and a harness that runs a supervisor and looks at what it leaves behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio
from trio.testing import wait_all_tasks_blocked

from picloud.actors.runtime import ChildSpec, ExitReport, Journal


class Boom(Exception):
    """The crash of these tests."""


class Probe:
    """An actor that writes its starts and ends into a log shared by all: `+a` and `-a`."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log
        self.starts = 0
        self.alive = 0
        self.peak = 0
        self.ended_at: float | None = None
        self.start_errors: list[Exception] = []
        """Errors of the next starts, in order."""
        self.cleanup: Callable[[], object] | None = None
        """Called at the end of an incarnation; may be async."""
        self._end = trio.Event()
        self._error: BaseException | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self.starts += 1
        self.alive += 1
        self.peak = max(self.peak, self.alive)
        self._end, self._error = trio.Event(), None
        try:
            if self.start_errors:
                raise self.start_errors.pop(0)
            self.log.append(f"+{self.name}")
            task_status.started()
            await self._end.wait()
            if self._error is not None:
                raise self._error
        finally:
            try:
                await self._clean_up()
            finally:
                self.alive -= 1
                self.ended_at = trio.current_time()
                self.log.append(f"-{self.name}")

    async def _clean_up(self) -> None:
        result = None if self.cleanup is None else self.cleanup()
        if result is not None:
            await result  # type: ignore[misc]

    def finish(self) -> None:
        """Return from the present incarnation."""
        self._end.set()

    def crash(self, error: BaseException | None = None) -> None:
        """Raise from the present incarnation."""
        self._error = Boom(f"{self.name} went off") if error is None else error
        self._end.set()


class Cast:
    """Probes by name, with the log they share and the reports of their exits."""

    def __init__(self, names: str) -> None:
        self.log: list[str] = []
        self.reports: list[ExitReport] = []
        self.journal = Journal(report=self.reports.append)
        self.probes = {name: Probe(name, self.log) for name in names}

    def __getitem__(self, name: str) -> Probe:
        return self.probes[name]

    def spec(self, name: str, **settings: object) -> ChildSpec:
        return ChildSpec(name, self.probes[name].run, **settings)  # type: ignore[arg-type]

    def specs(self, **restarts: str) -> list[ChildSpec]:
        """Return the specs of all, with the restart types given by name."""
        return [self.spec(name, restart=restarts.get(name, "permanent")) for name in self.probes]

    def take_log(self) -> str:
        """Return the log since the last call, as one string: `+a -b`."""
        text = " ".join(self.log)
        self.log.clear()
        return text


@dataclass
class Outcome:
    """How a supervisor ended."""

    error: BaseException | None = None
    ended: trio.Event = field(default_factory=trio.Event)
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)


async def run_to_outcome(
    supervisor: object, outcome: Outcome, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Run a supervisor and keep how it ended."""
    try:
        with outcome.scope:
            await supervisor.run(task_status=task_status)  # type: ignore[attr-defined]
    except Exception as error:
        outcome.error = error
    finally:
        outcome.ended.set()


@asynccontextmanager
async def running(supervisor: object) -> AsyncIterator[Outcome]:
    """Run a supervisor around a block; afterwards stop it, and see that none of its tasks is left."""
    outcome = Outcome()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_to_outcome, supervisor, outcome)
        await wait_all_tasks_blocked()
        yield outcome
        supervisor.request_stop()  # type: ignore[attr-defined]
        await outcome.ended.wait()
    assert list_actor_tasks() == []


def list_actor_tasks() -> list[str]:
    """Walk Trio's task tree; return the names of all tasks that run a child."""
    found, stack = [], [trio.lowlevel.current_root_task()]
    while stack:
        task = stack.pop()
        assert task is not None
        if task.name.startswith("/"):
            found.append(task.name)
        stack.extend(child for nursery in task.child_nurseries for child in nursery.child_tasks)
    return sorted(found)


async def sleep_shielded(seconds: float) -> None:
    """Sleep whatever comes."""
    with trio.CancelScope(shield=True):
        await trio.sleep(seconds)


def sleep_before_started(seconds: float) -> Callable[..., Awaitable[None]]:
    """Return an actor that takes its time to start."""

    async def start(*, task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep(seconds)
        task_status.started()
        await trio.sleep_forever()

    return start
