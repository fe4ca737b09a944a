"""What a supervisor must know of a child: OTP's child spec."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import trio

from picloud.actors.runtime.errors import InvalidSpec

Restart = Literal["permanent", "transient", "temporary"]
"""permanent: always restarted. transient: restarted after an error. temporary: never."""

ChildType = Literal["worker", "supervisor"]

DEFAULT_SHUTDOWN = 5.0
"""Seconds; OTP's default for workers. Supervisors default to None: their children have times of their own."""

BY_TYPE = -1.0
"""Stands for the default shutdown of the child's type until the spec is built."""


class Start(Protocol):
    """Runs one incarnation: calls `task_status.started()` once it is ready, and returns when the incarnation ends."""

    def __call__(self, *, task_status: trio.TaskStatus[None]) -> Awaitable[object]: ...


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """One child of a supervisor.

    Units: `shutdown` in seconds, None = wait for ever, 0 = kill at once.
    Raises: InvalidSpec, at construction.
    """

    id: str
    """Unique among siblings; may hold slashes: the path is the parent's path, a slash and the id."""
    start: Start
    """Usually an actor's bound `run`."""
    restart: Restart = "permanent"
    shutdown: float | None = BY_TYPE
    type: ChildType = "worker"
    significant: bool = False
    """Its end may end the supervisor: see `auto_shutdown`."""
    on_shutdown: Callable[[], None] | None = None
    """Asks for a graceful end, as by `event.set`; without it the incarnation is cancelled at once."""
    introspect: object | None = None
    """The object whose `details()`, `mailbox` and `health` the tree shows; by default the one `start` is bound to."""

    def __post_init__(self) -> None:
        if self.shutdown == BY_TYPE:
            object.__setattr__(self, "shutdown", None if self.type == "supervisor" else DEFAULT_SHUTDOWN)
        if self.introspect is None:
            object.__setattr__(self, "introspect", getattr(self.start, "__self__", None))
        fault = find_fault(self)
        if fault:
            raise InvalidSpec(f"child {self.id!r}: {fault}")


def find_fault(spec: ChildSpec) -> str | None:
    """Return what is wrong with the spec, or None."""
    checks = (
        (is_valid_id(spec.id), "the id must be printable text; slashes only between other characters"),
        (callable(spec.start), "start must be an async callable that takes task_status"),
        (spec.restart in get_args(Restart), f"restart is {spec.restart!r}, not one of {', '.join(get_args(Restart))}"),
        (spec.type in get_args(ChildType), f"type is {spec.type!r}, not one of {', '.join(get_args(ChildType))}"),
        (
            spec.shutdown is None or 0 <= spec.shutdown < float("inf"),
            "shutdown is a number of seconds from 0, or None to wait for ever",
        ),
        (
            not spec.significant or spec.restart != "permanent",
            "a permanent child cannot be significant: it never ends for good",
        ),
    )
    return next((fault for holds, fault in checks if not holds), None)


def is_valid_id(child_id: str) -> bool:
    """Tell whether an id can be part of a path."""
    return child_id.isprintable() and all(part.strip() for part in child_id.split("/"))


def check_siblings(supervisor: str, specs: Iterable[ChildSpec], *, may_be_significant: bool) -> None:
    """Refuse specs that cannot be children of one supervisor."""
    seen: set[str] = set()
    for spec in specs:
        if spec.id in seen:
            raise InvalidSpec(f"supervisor {supervisor!r} has two children of the id {spec.id!r}")
        if spec.significant and not may_be_significant:
            raise InvalidSpec(f"child {spec.id!r} is significant, but {supervisor!r} has no auto_shutdown")
        seen.add(spec.id)
