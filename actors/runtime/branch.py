"""What the static and the dynamic supervisor share: a place in the tree, and a life that ends in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import trio

from picloud.actors.runtime.child import Child
from picloud.actors.runtime.errors import (
    ActorNotFound,
    ChildNotFound,
    InvalidSpec,
    RootHasNoSupervisor,
    SupervisorNotRunning,
)
from picloud.actors.runtime.health import Health
from picloud.actors.runtime.journal import Journal
from picloud.actors.runtime.restarts import check_intensity
from picloud.actors.runtime.spec import ChildSpec, Restart, is_valid_id
from picloud.actors.runtime.tree import ActorNode, Counts, Figures, Strategy, build_node, count_children, read_health

C = TypeVar("C", bound=Child)


class Outside:
    """Stands for the parent of a tree's root."""

    path = ""

    def __init__(self, journal: Journal | None) -> None:
        self.journal = Journal() if journal is None else journal


class Branch(ABC, Generic[C]):
    """A supervisor: runs children, and can be seen, stopped and killed."""

    strategy: Strategy = "one_for_one"

    def __init__(self, name: str, max_restarts: int, max_seconds: float, journal: Journal | None) -> None:
        check_intensity(max_restarts, max_seconds)
        if not is_valid_id(name):
            raise InvalidSpec(f"supervisor {name!r}: the name must be printable text")
        self.name = name
        self.max_restarts = max_restarts
        self.max_seconds = max_seconds
        self._journal = journal
        self._children: dict[str, C] = {}
        self._nursery: trio.Nursery | None = None
        self._control = trio.CancelScope()
        self._itself = Child(self.as_child(), Outside(journal))
        """The parent's record of this supervisor; the root keeps its own."""

    def as_child(
        self, *, restart: Restart = "permanent", shutdown: float | None = None, significant: bool = False
    ) -> ChildSpec:
        """Return the spec of this supervisor as a child of another.

        When its `shutdown` is over, all below it is cancelled at once.
        """
        return ChildSpec(self.name, self.run, restart, shutdown, "supervisor", significant, introspect=self)

    @property
    def path(self) -> str:
        """Where this supervisor is in its tree."""
        return self._itself.path

    @property
    def journal(self) -> Journal:
        """The journal given to this supervisor or to the nearest one above."""
        return self._itself.parent.journal if self._journal is None else self._journal

    # Life

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the children, keep them running; stop them in order when asked to, when cancelled or when giving up.

        Raises: the error of a child's first start; RestartIntensityExceeded from the last error.
        """
        self._open()
        failure: Exception | None = None
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                try:
                    with self._control:
                        failure = await self._live(task_status)
                finally:
                    self._control.cancel()
                    self._itself.change("stopping")
                    with trio.CancelScope(shield=True):
                        await self._stop_all()
        finally:
            self._close(failure)
        # raised out here, the error is not wrapped in the nursery's group
        if failure is not None:
            raise failure

    async def _live(self, task_status: trio.TaskStatus[None]) -> Exception | None:
        failure = await self._start_all()
        if failure is not None:
            return failure
        if self._is_root:
            self._itself.mark_started()
        task_status.started()
        return await self._serve()

    @abstractmethod
    async def _start_all(self) -> Exception | None:
        """Start the children of the specs; return the first error."""

    @abstractmethod
    async def _serve(self) -> Exception | None:
        """Keep the children running; return the error to end with, if this ends by itself."""

    @abstractmethod
    async def _stop_all(self) -> None:
        """Stop all children. Runs shielded."""

    @property
    def _is_root(self) -> bool:
        return isinstance(self._itself.parent, Outside)

    def _open(self) -> None:
        if self._nursery is not None:
            raise RuntimeError(f"{self.path} runs already")
        self._control = trio.CancelScope()
        if self._is_root:
            self._itself.begin()

    def _close(self, failure: Exception | None) -> None:
        self._nursery = None
        if self._is_root:
            # the root's failure goes to whoever runs it: a report would say it twice
            self._itself.finish(failure, report=False)

    def request_stop(self) -> None:
        """Ask for an orderly stop; returns at once, as a signal handler must."""
        if self._is_root and self._nursery is not None:
            self._itself.asked = True
        self._control.cancel()

    def kill(self) -> None:
        """Cancel every incarnation below at once, without waiting for shutdown times."""
        self.request_stop()
        for child in list(self._children.values()):
            child.end_now()

    def _check_running(self) -> trio.Nursery:
        if self._nursery is None or self._control.cancel_called:
            raise SupervisorNotRunning(f"{self.path} is not running")
        return self._nursery

    # Children

    def _adopt(self, child: C) -> None:
        below = find_branch(child)
        if below is not None:
            below._itself = child
        self._children[child.spec.id] = child

    def _get(self, child_id: str) -> C:
        try:
            return self._children[child_id]
        except KeyError:
            raise ChildNotFound(f"{self.path} has no child {child_id!r}") from None

    @abstractmethod
    async def restart_child(self, child_id: str) -> None:
        """Stop the child if it runs, and start it again."""

    @abstractmethod
    async def terminate_child(self, child_id: str) -> None:
        """Stop the child for good."""

    def kill_child(self, child_id: str) -> None:
        """Cancel the child's incarnation as if it had crashed with `Killed`: OTP's exit(Pid, kill)."""
        self._get(child_id).kill()

    async def restart(self, path: str) -> None:
        """Restart the actor at a path of this tree.

        Raises: ActorNotFound, RootHasNoSupervisor, or what `restart_child` raises.
        """
        branch, child = self._find(path)
        if branch is None:
            raise RootHasNoSupervisor(f"{path} is the root: restart the process")
        await branch.restart_child(child.spec.id)

    # Sight

    def which_children(self) -> list[ActorNode]:
        """Return the children as the tree shows them, without what is below them."""
        return list(self._build_children(self.path, 0, trio.current_time()))

    def count_children(self) -> Counts:
        """Return the numbers of children."""
        return count_children(self._children)

    def snapshot(self, path: str | None = None, depth: int | None = None) -> ActorNode:
        """Return the actor at `path`, by default this one, and `depth` levels below it, by default all.

        Atomic: no checkpoint, so never half-updated.
        Raises: ActorNotFound.
        """
        child = self._itself if path is None else self._find(path)[1]
        return build_branch_node(child, child.path, depth, trio.current_time())

    def degraded(self) -> list[tuple[str, Health]]:
        """Return path and health of every actor below that cannot do its work now."""
        found: list[tuple[str, Health]] = []
        for child in self._children.values():
            below = find_branch(child)
            if below is not None:
                found += below.degraded()
            elif read_health(child).state == "degraded":
                found.append((child.path, read_health(child)))
        return found

    def _find(self, path: str) -> tuple[Branch[Any] | None, Child]:
        if path == self.path:
            return None, self._itself
        if not path.startswith(self.path + "/"):
            raise ActorNotFound(path)
        found = self._find_below(path[len(self.path) + 1 :])
        if found is None:
            raise ActorNotFound(path)
        return found

    def _find_below(self, rest: str) -> tuple[Branch[Any], Child] | None:
        child = self._children.get(rest)
        if child is not None:
            return self, child
        # an id may hold slashes: try every way to cut the path
        for cut, char in enumerate(rest):
            below = find_branch(self._children.get(rest[:cut])) if char == "/" else None
            found = None if below is None else below._find_below(rest[cut + 1 :])
            if found is not None:
                return found
        return None

    def _build_figures(self, path: str, depth: int | None, now: float) -> Figures:
        children = None
        if depth is None or depth > 0:
            children = self._build_children(path, None if depth is None else depth - 1, now)
        return Figures(
            self.strategy,
            self.max_restarts,
            self.max_seconds,
            self._count_restarts(),
            count_children(self._children),
            children,
        )

    def _build_children(self, path: str, depth: int | None, now: float) -> tuple[ActorNode, ...]:
        return tuple(
            [
                build_branch_node(child, f"{path}/{child_id}", depth, now)
                if child.spec.type == "supervisor"
                else build_node(child, f"{path}/{child_id}", now)
                for child_id, child in self._children.items()
            ]
        )

    @abstractmethod
    def _count_restarts(self) -> int:
        """Return the restarts within the period that ends now."""


def find_branch(child: Child | None) -> Branch[Any] | None:
    """Return the supervisor that a child is, if it is one of ours."""
    if child is None or child.spec.type != "supervisor" or not isinstance(child.spec.introspect, Branch):
        return None
    return child.spec.introspect


def build_branch_node(child: Child, path: str, depth: int | None, now: float) -> ActorNode:
    """Return the node of a child, and of what is below it."""
    branch = find_branch(child)
    return build_node(child, path, now, None if branch is None else branch._build_figures(path, depth, now))
