"""The dynamic supervisor: any number of children that come and go, and never notice each other.

Each child has a task of its own that runs one incarnation after the other; there is no central loop to wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import trio

from picloud.actors.runtime.branch import Branch
from picloud.actors.runtime.child import Child
from picloud.actors.runtime.errors import (
    ChildExists,
    ChildNotFound,
    InvalidSpec,
    RuntimeActorError,
    ShutdownTimeout,
    SupervisorNotRunning,
    TooManyChildren,
)
from picloud.actors.runtime.events import EventKind
from picloud.actors.runtime.exits import ExitReason
from picloud.actors.runtime.journal import Journal
from picloud.actors.runtime.restarts import Backoff, RestartWindow, should_restart
from picloud.actors.runtime.spec import ChildSpec, check_siblings
from picloud.actors.runtime.stopping import stop_children

DEFAULT_BACKOFF = Backoff()

Rest = tuple[Literal["backing_off", "parked"], float]
"""How a child waits for its next incarnation, and how many seconds."""


class DynamicChild(Child):
    """A child with a restart window of its own."""

    __slots__ = ("forgotten", "restart_wanted", "window")

    def __init__(self, spec: ChildSpec, parent: DynamicSupervisor) -> None:
        super().__init__(spec, parent)
        self.window: RestartWindow | None = None
        """None until the first restart: most children never crash."""
        self.restart_wanted = False
        self.forgotten = False


class DynamicSupervisor(Branch[DynamicChild]):
    """Run children that are started and stopped while it runs.

    Units: `max_seconds` and `cool_down` in seconds. A child that needs more than `max_restarts` restarts within
    `max_seconds` is parked, and tried again after `cool_down` (None: only by `restart_child`) with a clean slate.
    `children` are started, in order, with each incarnation of the supervisor; all others are gone then, as in OTP.
    """

    def __init__(
        self,
        name: str,
        *,
        children: Sequence[ChildSpec] = (),
        max_restarts: int = 3,
        max_seconds: float = 5.0,
        max_children: int | None = None,
        backoff: Backoff | None = DEFAULT_BACKOFF,
        cool_down: float | None = 60.0,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(name, max_restarts, max_seconds, journal)
        if cool_down is not None and cool_down <= 0:
            raise InvalidSpec(f"supervisor {name!r}: cool_down is a number of seconds above 0, or None")
        if max_children is not None and max_children < len(children):
            raise InvalidSpec(f"supervisor {name!r}: max_children is less than its first children")
        check_siblings(name, children, may_be_significant=False)
        self.max_children = max_children
        self._backoff = backoff
        self._cool_down = float("inf") if cool_down is None else cool_down
        self._initial = tuple(children)

    def __contains__(self, child_id: str) -> bool:
        return child_id in self._children

    def children_ids(self) -> list[str]:
        """Return the ids of all children, parked ones too."""
        return list(self._children)

    # Life

    async def _start_all(self) -> Exception | None:
        self._children.clear()
        for spec in self._initial:
            child = self._launch(spec)
            await child.until_settled(1)
            if child.last_started == 0:
                return child.error
        return None

    async def _serve(self) -> Exception | None:
        await trio.sleep_forever()

    async def _stop_all(self) -> None:
        await stop_children(list(self._children.values()))

    def _launch(self, spec: ChildSpec) -> DynamicChild:
        """Start the task of a new child; it says itself when it has started."""
        nursery = self._check_running()
        if spec.id in self._children:
            raise ChildExists(f"{self.path} has a child {spec.id!r} already")
        if self.max_children is not None and len(self._children) >= self.max_children:
            raise TooManyChildren(f"{self.path} has {self.max_children} children, as many as it may")
        check_siblings(self.name, (spec,), may_be_significant=False)
        child = DynamicChild(spec, self)
        self._adopt(child)
        child.begin()
        nursery.start_soon(self._keep, child, name=child.path)
        return child

    async def _keep(self, child: DynamicChild) -> None:
        """Run one incarnation after the other until the child ends for good."""
        try:
            while True:
                await child.run_once()
                rest = self._judge(child)
                if rest is None:
                    return
                await child.rest(*rest)
                if not self._goes_on(child):
                    self._tell("stopped", child, reason="shutdown")
                    return
                child.restart_wanted = False
                child.restart_count += 1
                child.begin()
        finally:
            del self._children[child.spec.id]
            child.forgotten = True
            child.change("stopped")

    def _goes_on(self, child: DynamicChild) -> bool:
        return not self._control.cancel_called and (child.restart_wanted or not child.asked)

    def _judge(self, child: DynamicChild) -> Rest | None:
        """Return how to rest before the next incarnation, or None if there is none."""
        if not self._goes_on(child):
            return None
        if child.restart_wanted:
            child.window = None
            return "backing_off", 0.0
        assert child.last_exit is not None
        if child.last_started == 0 or not should_restart(child.spec.restart, child.last_exit):
            return None
        return self._back_off_or_park(child)

    def _back_off_or_park(self, child: DynamicChild) -> Rest:
        if child.window is None:
            child.window = RestartWindow(self.max_restarts, self.max_seconds)
        if not child.window.admit():
            child.window = None
            self._tell("parked", child, reason="error", delay=self._cool_down)
            return "parked", self._cool_down
        delay = 0.0 if self._backoff is None else self._backoff.compute_delay(child.window.count())
        self._tell("restarting", child, delay=delay)
        return "backing_off", delay

    def _tell(
        self, kind: EventKind, child: DynamicChild, *, reason: ExitReason | None = None, delay: float | None = None
    ) -> None:
        ended = child.last_exit
        self.journal.events.emit(
            kind,
            child.path,
            incarnation=child.incarnation,
            reason=reason,
            error_type=None if ended is None else ended.error_type,
            message=None if ended is None else ended.message,
            delay=None if delay == float("inf") else delay,
        )

    def _count_restarts(self) -> int:
        return sum(child.window.count() for child in self._children.values() if child.window is not None)

    # Commands

    async def start_child(self, spec: ChildSpec) -> None:
        """Start a child and return once it is started. If the caller is cancelled meanwhile, so is the child.

        A child whose start fails is forgotten.
        Raises: ChildExists, TooManyChildren, SupervisorNotRunning, or the error of its start.
        """
        child = self._launch(spec)
        failure = (await self._wait_started([child])).get(spec.id)
        if failure is not None:
            raise failure

    async def start_children(self, specs: Iterable[ChildSpec]) -> dict[str, Exception]:
        """Start many children at the same time; return the errors of those that did not start, by id."""
        self._check_running()
        launched: list[DynamicChild] = []
        failures: dict[str, Exception] = {}
        for spec in specs:
            try:
                launched.append(self._launch(spec))
            except RuntimeActorError as refused:
                failures[spec.id] = refused
        return failures | await self._wait_started(launched)

    async def _wait_started(self, children: Sequence[DynamicChild]) -> dict[str, Exception]:
        try:
            for child in children:
                await child.until_settled(1)
        except trio.Cancelled:
            await self._abandon([child for child in children if child.settled == 0])
            raise
        ended = SupervisorNotRunning(f"{self.path} stopped")
        return {child.spec.id: child.error or ended for child in children if child.last_started == 0}

    async def _abandon(self, children: Sequence[DynamicChild]) -> None:
        """Cancel children whose start nobody waits for any more and wait for their end, as nursery.start does."""
        for child in children:
            child.end_now()
        with trio.CancelScope(shield=True):
            for child in children:
                await child.until(lambda child=child: child.forgotten)  # type: ignore[misc]

    async def terminate_child(self, child_id: str) -> None:
        """Stop the child and forget it. Goes on when the caller is cancelled.

        Raises: ChildNotFound, SupervisorNotRunning; ShutdownTimeout if it is still there.
        """
        child, asked_at = self._get(child_id), trio.current_time()
        child.restart_wanted = False
        self._check_running().start_soon(stop_children, [child])
        await child.until(lambda: child.forgotten or child.stuck)
        if not child.forgotten:
            raise ShutdownTimeout(child.path, trio.current_time() - asked_at)

    async def restart_child(self, child_id: str) -> None:
        """Start the child again: a running one is stopped first, one that backs off or is parked is tried now.

        Its restarts so far are forgiven; if this start fails, it backs off as after a crash.
        Raises: ChildNotFound, SupervisorNotRunning, ShutdownTimeout, or the error of its start.
        """
        nursery, child, asked_at = self._check_running(), self._get(child_id), trio.current_time()
        before = child.incarnation
        child.restart_wanted = True
        if child.is_resting:
            child.window = None
            child.cut_rest()
        else:
            nursery.start_soon(stop_children, [child])
        await child.until(lambda: child.settled > before or child.forgotten or child.stuck)
        if child.last_started > before:
            return
        if child.settled > before and child.error is not None:
            raise child.error
        if child.forgotten:
            raise ChildNotFound(f"{child.path} was stopped while it was restarted")
        raise ShutdownTimeout(child.path, trio.current_time() - asked_at)
