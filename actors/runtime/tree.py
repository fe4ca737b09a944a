"""The supervision tree as a frozen record, built without a checkpoint, so never half-updated."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal, NamedTuple

import trio

from picloud.actors.runtime.child import Child, Status
from picloud.actors.runtime.exits import Exit, describe_error
from picloud.actors.runtime.health import Health
from picloud.actors.runtime.mailbox import MailboxStatistics
from picloud.actors.runtime.rfc3339 import format_time
from picloud.actors.runtime.spec import ChildType, Restart

Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]


class Counts(NamedTuple):
    """OTP's count_children: all specs, those alive, and the specs by type."""

    specs: int
    active: int
    supervisors: int
    workers: int


class Figures(NamedTuple):
    """What the tree shows of a supervisor besides what it shows of each actor."""

    strategy: Strategy
    max_restarts: int
    max_seconds: float
    restarts_in_period: int
    counts: Counts
    children: tuple[ActorNode, ...] | None
    """None: deeper than was asked for."""


class ActorNode(NamedTuple):
    """One actor at one moment.

    Units: `started_at` in seconds since the epoch, `uptime` in seconds.
    """

    id: str
    path: str
    type: ChildType
    restart: Restart
    shutdown: float | None
    status: Status
    incarnation: int
    restart_count: int
    started_at: float | None
    uptime: float | None
    last_exit: Exit | None
    mailbox: MailboxStatistics | None
    health: Health
    details: Mapping[str, object]
    figures: Figures | None = None

    def to_json(self) -> dict[str, object]:
        """Return the node, and the nodes below, as a dict of JSON values."""
        node: dict[str, object] = {
            "id": self.id,
            "path": self.path,
            "type": self.type,
            "restart": self.restart,
            "shutdown": self.shutdown,
            "status": self.status,
            "incarnation": self.incarnation,
            "restart_count": self.restart_count,
            "started_at": None if self.started_at is None else format_time(self.started_at),
            "uptime_secs": None if self.uptime is None else round(self.uptime, 3),
            "last_exit": None
            if self.last_exit is None
            else self.last_exit._asdict() | {"at": format_time(self.last_exit.at)},
            "mailbox": None if self.mailbox is None else self.mailbox._asdict(),
            "health": {
                "state": self.health.state,
                "since": format_time(self.health.since),
                "error": self.health.error,
            },
            "details": self.details,
        }
        if self.figures is not None:
            node |= figures_to_json(self.figures)
        return node


def figures_to_json(figures: Figures) -> dict[str, object]:
    """Return the supervisor's part of a node as a dict of JSON values."""
    children = figures.children
    return figures._asdict() | {
        "counts": figures.counts._asdict(),
        "children": None if children is None else [child.to_json() for child in children],
    }


def build_node(child: Child, path: str, figures: Figures | None) -> ActorNode:
    """Return what there is to see of a child now. The path is given, since building it for each of many costs most."""
    spec = child.spec
    running = child.is_alive and not child.is_resting and child.last_started == child.incarnation
    return ActorNode(
        spec.id,
        path,
        spec.type,
        spec.restart,
        spec.shutdown,
        child.status,
        child.incarnation,
        child.restart_count,
        child.started_at,
        trio.current_time() - child.started_clock if running else None,
        child.last_exit,
        read_mailbox(spec.introspect),
        read_health(child),
        read_details(spec.introspect),
        figures,
    )


def read_mailbox(actor: object) -> MailboxStatistics | None:
    """Return the figures of the actor's mailbox, if it has one."""
    mailbox = getattr(actor, "mailbox", None)
    statistics = getattr(mailbox, "statistics", None)
    return None if statistics is None else statistics()


def read_health(child: Child) -> Health:
    """Return what the actor says of its health; one that says nothing has been fine since its start."""
    gauge = getattr(child.spec.introspect, "health", None)
    if gauge is not None:
        current: Health = gauge.current
        return current
    return Health("ok", child.started_at or time.time())


def read_details(actor: object) -> Mapping[str, object]:
    """Return the actor's own figures; an error in them is shown, since it must not hide the tree."""
    details = getattr(actor, "details", None)
    if details is None:
        return {}
    try:
        return dict(details())
    except Exception as error:
        return {"error": ": ".join(describe_error(error))}


def count_children(children: Mapping[str, Child]) -> Counts:
    """Count the children of one supervisor; one that rests between incarnations is not active."""
    active = supervisors = 0
    for child in children.values():
        active += child.is_alive and not child.is_resting
        supervisors += child.spec.type == "supervisor"
    return Counts(len(children), active, supervisors, len(children) - supervisors)
