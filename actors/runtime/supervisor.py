"""The static supervisor: OTP's strategies over a fixed list of children.

One task decides everything, one after the other, as OTP's supervisor process does: ends of children, restarts that are
due, and commands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple, get_args

import trio

from picloud.actors.runtime.branch import Branch
from picloud.actors.runtime.child import Child
from picloud.actors.runtime.errors import (
    InvalidSpec,
    RestartIntensityExceeded,
    ShutdownTimeout,
    SupervisorNotRunning,
)
from picloud.actors.runtime.journal import Journal
from picloud.actors.runtime.mailbox import Reply
from picloud.actors.runtime.restarts import Backoff, RestartWindow, should_restart
from picloud.actors.runtime.spec import ChildSpec, check_siblings
from picloud.actors.runtime.stopping import stop_children
from picloud.actors.runtime.tree import Strategy
from picloud.actors.runtime.wake import WakeMailbox

AutoShutdown = Literal["never", "any_significant", "all_significant"]


class Order(NamedTuple):
    """A command from outside, done between two decisions."""

    obey: Callable[[Child], Awaitable[None]]
    child_id: str
    reply: Reply[None]


class Supervisor(Branch[Child]):
    """Start children left to right, restart them by strategy, stop them in reverse.

    Units: `max_seconds` in seconds. More than `max_restarts` restarts of all children together within them: all are
    stopped and `run` raises RestartIntensityExceeded. Restarts are immediate, as in OTP, unless a `backoff` is given.
    """

    def __init__(
        self,
        name: str,
        children: Sequence[ChildSpec],
        *,
        strategy: Strategy = "one_for_one",
        max_restarts: int = 3,
        max_seconds: float = 5.0,
        auto_shutdown: AutoShutdown = "never",
        backoff: Backoff | None = None,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(name, max_restarts, max_seconds, journal)
        check_choice(name, "strategy", strategy, get_args(Strategy))
        check_choice(name, "auto_shutdown", auto_shutdown, get_args(AutoShutdown))
        check_siblings(name, children, may_be_significant=auto_shutdown != "never")
        self.strategy = strategy
        self.auto_shutdown = auto_shutdown
        self._backoff = backoff
        self._window = RestartWindow(max_restarts, max_seconds)
        self._ended: dict[Child, None] = {}
        """Children whose end is still to be judged, oldest first."""
        self._due: dict[Child, float] = {}
        """When each child that waits for its restart is to be started."""
        self._orders: deque[Order] = deque()
        self._wake = WakeMailbox()
        self._declared = [Child(spec, self) for spec in children]
        self._take_all_back()

    def _take_all_back(self) -> None:
        """Have all declared children again: temporary ones return with the supervisor's next incarnation."""
        self._children.clear()
        for child in self._declared:
            self._adopt(child)

    # Life

    async def _start_all(self) -> Exception | None:
        self._take_all_back()
        self._window.clear()
        self._ended.clear()
        self._due.clear()
        for child in list(self._children.values()):
            failure = await self._start(child)
            if failure is not None:
                return failure
        return None

    async def _start(self, child: Child) -> Exception | None:
        """Start an incarnation and wait until it says so; return its error if it ends before."""
        assert self._nursery is not None
        child.begin()
        self._nursery.start_soon(self._run_child, child, name=child.path)
        await child.until_settled(child.incarnation)
        if child.last_started == child.incarnation:
            return None
        failure = child.error
        assert failure is not None
        if child.spec.type == "worker":
            failure.add_note(f"{child.path} failed to start")
        return failure

    async def _run_child(self, child: Child) -> None:
        await child.run_once()
        if child.last_started == child.incarnation and not child.asked:
            self._ended[child] = None
            self._wake.wake()

    async def _serve(self) -> Exception | None:
        """Take one decision after the other."""
        try:
            while True:
                if self._ended:
                    if await self._judge(next(iter(self._ended))):
                        return None
                elif (due := self._find_due()) is not None:
                    await self._start_due(due)
                elif self._orders:
                    await self._obey(self._orders[0])
                else:
                    await self._wake.wait(self._time_to_next_due())
        except RestartIntensityExceeded as exceeded:
            return exceeded

    async def _stop_all(self) -> None:
        for child in reversed(self._children.values()):
            await stop_children([child])
            if not child.is_alive:
                child.change("stopped")
        while self._orders:
            self._orders.popleft().reply.fail(SupervisorNotRunning(f"{self.path} stopped"))

    # Ends and restarts

    async def _judge(self, child: Child) -> bool:
        """Do what the strategy says about a child that ended unasked; return True if the supervisor ends with it."""
        del self._ended[child]
        assert child.last_exit is not None
        if should_restart(child.spec.restart, child.last_exit):
            await self._plan_restart(child)
            return False
        self._forget_temporary(child)
        return self._ends_with(child)

    async def _plan_restart(self, child: Child) -> None:
        """Stop the group of a child and say when it starts again."""
        if not self._window.admit():
            error = child.error if child.last_exit is not None and child.last_exit.reason == "error" else None
            raise RestartIntensityExceeded(
                self.path, child.spec.id, self.max_restarts, self.max_seconds, error
            ) from error
        delay = 0.0 if self._backoff is None else self._backoff.compute_delay(self._window.count())
        group = self._list_group(child)
        for member in reversed(group):
            await self._stop(member)
            self._forget_temporary(member)
        for member in group:
            if member.spec.restart != "temporary":
                self._due[member] = trio.current_time() + delay
                member.change("backing_off")
        self.journal.events.emit("restarting", child.path, incarnation=child.incarnation, delay=delay)

    def _list_group(self, child: Child) -> list[Child]:
        """Return the children that are restarted together with one."""
        if self.strategy == "one_for_one":
            return [child]
        children = list(self._children.values())
        return children if self.strategy == "one_for_all" else children[children.index(child) :]

    def _find_due(self) -> Child | None:
        """Return the leftmost child that is to be started now."""
        now = trio.current_time()
        return next((child for child in self._children.values() if self._due.get(child, now + 1) <= now), None)

    def _time_to_next_due(self) -> float | None:
        return min(self._due.values()) - trio.current_time() if self._due else None

    async def _start_due(self, child: Child) -> None:
        """Start a child again; a start that fails is its end, and judged like any."""
        del self._due[child]
        child.restart_count += 1
        if await self._start(child) is not None:
            self._ended[child] = None

    async def _stop(self, child: Child) -> None:
        """Stop a child, however long it takes: its next incarnation must not meet it."""
        self._ended.pop(child, None)
        self._due.pop(child, None)
        if await stop_children([child]):
            await child.until(lambda: not child.is_alive)

    def _forget_temporary(self, child: Child) -> None:
        if child.spec.restart == "temporary":
            self._children.pop(child.spec.id, None)

    def _ends_with(self, child: Child) -> bool:
        if not child.spec.significant or self.auto_shutdown == "never":
            return False
        if self.auto_shutdown == "any_significant":
            return True
        significant = [other for other in self._children.values() if other.spec.significant]
        return not any(other.is_alive or other in self._due or other in self._ended for other in significant)

    def _count_restarts(self) -> int:
        return self._window.count()

    # Commands

    async def restart_child(self, child_id: str) -> None:
        """Stop the child if it runs, start it again, and return once it is started; counts as no restart.

        Raises: ChildNotFound, SupervisorNotRunning, or the error of its start, which is then handled like any crash.
        """
        await self._command(self._restart_now, child_id)

    async def terminate_child(self, child_id: str) -> None:
        """Stop the child and keep it stopped until `restart_child` or a restart of its group; forget a temporary one.

        Raises: ChildNotFound, SupervisorNotRunning; ShutdownTimeout if it is still there.
        """
        await self._command(self._terminate_now, child_id)

    async def _command(self, obey: Callable[[Child], Awaitable[None]], child_id: str) -> None:
        self._check_running()
        self._get(child_id)
        order = Order(obey, child_id, Reply())
        self._orders.append(order)
        self._wake.wake()
        await order.reply.wait()

    async def _obey(self, order: Order) -> None:
        try:
            await order.obey(self._get(order.child_id))
        except Exception as error:
            order.reply.fail(error)
        else:
            order.reply.send(None)
        self._orders.popleft()

    async def _restart_now(self, child: Child) -> None:
        await self._stop(child)
        failure = await self._start(child)
        if failure is not None:
            self._ended[child] = None
            raise failure

    async def _terminate_now(self, child: Child) -> None:
        asked_at = trio.current_time()
        self._ended.pop(child, None)
        self._due.pop(child, None)
        stuck = await stop_children([child])
        self._forget_temporary(child)
        child.change("stopping" if stuck else "stopped")
        if stuck:
            raise ShutdownTimeout(child.path, trio.current_time() - asked_at)


def check_choice(supervisor: str, setting: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a word that is none of the choices."""
    if value not in choices:
        raise InvalidSpec(f"supervisor {supervisor!r}: {setting} is {value!r}, not one of {', '.join(choices)}")
