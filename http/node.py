"""What the HTTP API gets from the node it runs in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast
from uuid import UUID

from picloud.actors.serving import RouteRequest, Target
from picloud.db.http_triggers import StoredRoute
from picloud.db.messages import Sent
from picloud.db.pool import Pool
from picloud.db.wakeups import Changed
from picloud.engine import Cancel, Outcome, RunningExecution
from picloud.routes import Match
from picloud.types import AppId, ExecutionId, NewMessage

EXTENSION = "picloud"
"""Where the Quart app keeps its node."""


class TreeEvent(Protocol):
    """Something that happened in the supervision tree, numbered from 1."""

    @property
    def id(self) -> int: ...

    @property
    def kind(self) -> str: ...

    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Node:
    """The functions and limits of one node."""

    pool: Pool
    compile_script: Callable[[str, str], object]
    """Name and source; blocks for up to 0.2 s. Raises: ScriptInvalid."""
    sent: Callable[[AppId, Sequence[NewMessage], Sequence[Sent]], None]
    """To be called once messages are committed: it wakes their consumers."""
    wake: Callable[[AppId, str], None]
    """To be called when a queue has messages that may be claimed: it wakes its consumers."""
    changed: Callable[[Changed], None]
    """To be called once a change of triggers or scripts is committed."""
    snapshot: Callable[[str | None, int | None], dict[str, Any] | None]
    """Path and depth; None where the tree has no such path."""
    find_routes: Callable[[str, Sequence[str]], list[Match[StoredRoute]]]
    """App and segments of a path; the most exact route first. Raises: RouteNotFound."""
    serve: Callable[[Target, RouteRequest], Awaitable[Outcome]]
    """Runs the script of a route. Raises: RouteNotFound, GateFull, DatabaseUnavailable."""
    render_tree: Callable[[str | None, int | None], bytes | None]
    """The same, as JSON text."""
    restart_actor: Callable[[str], Awaitable[None]]
    """Path. Raises: ActorNotFound, Conflict."""
    readiness: Callable[[], Awaitable[list[str]]]
    """Why the node cannot serve; empty when it can."""
    max_payload_bytes: int
    events: Callable[[int | None], AsyncIterator[TreeEvent]]
    """The tree's events after the one of that number; None: only new ones."""
    id: UUID
    running: Callable[[], list[RunningExecution]]
    """The executions of this node that have not ended."""
    cancel: Callable[[ExecutionId, Cancel], bool]
    """Stops an execution of this node at its next tick; False where it does not run here."""


def node() -> Node:
    """Return the node of the request being handled."""
    from quart import current_app

    return cast(Node, current_app.extensions[EXTENSION])
