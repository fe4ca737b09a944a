"""Random deaths and commands against a supervisor; after each the invariants of supervision must hold.

Trio runs in a thread of its own under a clock that stands still; each rule is one call into it and ends when all
tasks are blocked.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

import trio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from runtime_probes import Boom, Cast, list_actor_tasks
from trio.testing import MockClock, wait_all_tasks_blocked

from picloud.actors.runtime import (
    Backoff,
    ChildNotFound,
    DynamicSupervisor,
    RestartIntensityExceeded,
    Supervisor,
)

NAMES = "abcd"
MAX_RESTARTS = 4
MAX_SECONDS = 5.0

names = st.sampled_from(NAMES)
restarts = st.sampled_from(["permanent", "transient", "temporary"])
SETTINGS = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


class TrioThread:
    """A Trio run in a thread, entered by one call at a time."""

    def __init__(self) -> None:
        self.clock = MockClock()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._main,), kwargs={"clock": self.clock})
        self._thread.start()
        self._ready.wait()

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._over = trio.Event()
        async with trio.open_nursery() as self.nursery:
            self._ready.set()
            await self._over.wait()

    def do(self, act: Callable[[], Awaitable[object] | None]) -> None:
        """Call `act` in Trio, and let everything it sets off come to rest."""

        async def call() -> None:
            result = act()
            if result is not None:
                await result
            await wait_all_tasks_blocked()

        trio.from_thread.run(call, trio_token=self._token)

    def close(self) -> None:
        self._token.run_sync_soon(self._over.set)
        self._thread.join()


class SupervisorMachine(RuleBasedStateMachine):
    """What both kinds of supervisor must keep."""

    supervisor: Supervisor | DynamicSupervisor

    def __init__(self) -> None:
        super().__init__()
        self.cast = Cast(NAMES)
        self.trio = TrioThread()
        self.ended = False
        self.error: Exception | None = None

    def start(self, supervisor: Supervisor | DynamicSupervisor) -> None:
        self.supervisor = supervisor

        async def run() -> None:
            try:
                await supervisor.run()
            except RestartIntensityExceeded as error:
                self.error = error
            self.ended = True

        self.trio.do(lambda: self.trio.nursery.start_soon(run))

    def teardown(self) -> None:
        try:
            if hasattr(self, "supervisor"):
                self.trio.do(self.supervisor.request_stop)
                self.check_nothing_is_left()
        finally:
            self.trio.close()

    def check_nothing_is_left(self) -> None:
        def check() -> None:
            assert self.ended
            assert list_actor_tasks() == []
            assert all(probe.alive == 0 for probe in self.cast.probes.values())

        self.trio.do(check)

    def jump(self, seconds: float) -> None:
        self.trio.clock.jump(seconds)

    @rule(name=names)
    def crash(self, name: str) -> None:
        self.trio.do(self.cast[name].crash)

    @rule(name=names)
    def crash_with_several(self, name: str) -> None:
        self.trio.do(lambda: self.cast[name].crash(ExceptionGroup("several", [Boom("x"), KeyError("y")])))

    @rule(name=names)
    def finish(self, name: str) -> None:
        self.trio.do(self.cast[name].finish)

    @rule(pair=st.tuples(names, names))
    def crash_two_at_once(self, pair: tuple[str, str]) -> None:
        self.trio.do(lambda: [self.cast[name].crash() for name in pair] and None)

    @rule(name=names)
    def fail_next_start(self, name: str) -> None:
        self.cast[name].start_errors = [Boom("start")]

    @rule(name=names)
    def crash_in_next_shutdown(self, name: str) -> None:
        def fail() -> None:
            self.cast[name].cleanup = None
            raise Boom("shutdown")

        self.cast[name].cleanup = fail

    @rule(name=names)
    def kill(self, name: str) -> None:
        def kill() -> None:
            try:
                self.supervisor.kill_child(name)
            except ChildNotFound:
                pass

        self.trio.do(kill)

    @precondition(lambda self: not self.ended)
    @rule(name=names)
    def restart_by_hand(self, name: str) -> None:
        self.trio.do(lambda: self.command(self.supervisor.restart_child, name))

    @precondition(lambda self: not self.ended)
    @rule(name=names)
    def terminate(self, name: str) -> None:
        self.trio.do(lambda: self.command(self.supervisor.terminate_child, name))
        assert self.ended or self.cast[name].alive == 0

    async def command(self, command: Callable[[str], Awaitable[None]], name: str) -> None:
        try:
            await command(name)
        except (ChildNotFound, Boom):
            pass

    @rule(seconds=st.sampled_from([0.3, 1.0, 10.0, 100.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.trio.do(lambda: self.jump(seconds))

    @invariant()
    def at_most_one_incarnation_of_a_child_is_alive(self) -> None:
        assert all(probe.alive <= 1 and probe.peak <= 1 for probe in self.cast.probes.values())

    @invariant()
    def tree_and_counts_tell_what_runs(self) -> None:
        if hasattr(self, "supervisor"):
            self.trio.do(self.check_sight)

    def check_sight(self) -> None:
        shown = {node.id: node for node in self.supervisor.which_children()}
        alive = {name for name in NAMES if self.cast[name].alive}
        assert {child_id for child_id, node in shown.items() if node.status == "running"} == alive
        counts = self.supervisor.count_children()
        assert (counts.specs, counts.active, counts.workers) == (len(shown), len(alive), len(shown))
        tasks = [name.removeprefix("/root/") for name in list_actor_tasks()]
        resting = {child_id for child_id, node in shown.items() if node.status in ("backing_off", "parked")}
        assert alive <= set(tasks) <= alive | resting, "an orphan"
        assert len(tasks) == len(set(tasks))


class StaticMachine(SupervisorMachine):
    """Supervisor: all strategies, with and without backoff."""

    @initialize(
        strategy=st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"]),
        types=st.lists(restarts, min_size=len(NAMES), max_size=len(NAMES)),
        backoff=st.sampled_from([None, Backoff(0.2, 1.0, 0.0)]),
    )
    def begin(self, strategy: str, types: list[str], backoff: Backoff | None) -> None:
        self.types = dict(zip(NAMES, types, strict=True))
        self.strategy = strategy
        specs = [self.cast.spec(name, restart=restart) for name, restart in self.types.items()]
        self.start(
            Supervisor(
                "root", specs, strategy=strategy, max_restarts=MAX_RESTARTS, max_seconds=MAX_SECONDS,
                backoff=backoff, journal=self.cast.journal,
            )
        )  # fmt: skip

    @invariant()
    def order_is_kept(self) -> None:
        if hasattr(self, "supervisor"):
            order = self.shown_ids()
            assert order == [name for name in NAMES if name in order]

    def shown_ids(self) -> list[str]:
        found: list[str] = []
        self.trio.do(lambda: found.extend(node.id for node in self.supervisor.which_children()))
        return found

    @invariant()
    def supervisor_ends_only_past_its_limit_and_then_with_all_children(self) -> None:
        if self.ended:
            assert isinstance(self.error, RestartIntensityExceeded)
            self.check_nothing_is_left()

    @invariant()
    def only_temporary_children_are_forgotten(self) -> None:
        if hasattr(self, "supervisor"):
            assert {name for name in NAMES if name not in self.shown_ids()} <= {
                name for name, restart in self.types.items() if restart == "temporary"
            }


class DynamicMachine(SupervisorMachine):
    """DynamicSupervisor: never ends by its children's doing."""

    @initialize(backoff=st.sampled_from([None, Backoff(0.2, 1.0, 0.0)]))
    def begin(self, backoff: Backoff | None) -> None:
        self.start(
            DynamicSupervisor(
                "root", max_restarts=MAX_RESTARTS, max_seconds=MAX_SECONDS, backoff=backoff, cool_down=50.0,
                journal=self.cast.journal,
            )
        )  # fmt: skip

    @rule(name=names, restart=restarts)
    def start_child(self, name: str, restart: str) -> None:
        async def start() -> None:
            failures = await self.supervisor.start_children([self.cast.spec(name, restart=restart)])
            started = name in self.supervisor.children_ids()
            assert started or isinstance(failures[name], Boom)

        self.trio.do(start)

    @invariant()
    def supervisor_lives(self) -> None:
        assert not self.ended
        assert self.error is None


StaticMachine.TestCase.settings = SETTINGS
DynamicMachine.TestCase.settings = SETTINGS
TestStaticSupervisor = StaticMachine.TestCase
TestDynamicSupervisor = DynamicMachine.TestCase
