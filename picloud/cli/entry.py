"""What only the composition root can do, handed to the command line as one record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from picloud.config import Settings
    from picloud.db.deployment import DeploymentDiff
    from picloud.manifest import Manifest


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """What a started node says about itself."""

    url: str
    """As a client on this machine reaches it."""
    token: str | None
    """Only when it was made at this start: it is not stored and cannot be shown again."""
    home: Path
    database: str
    """For people; holds no password."""
    deployed: DeploymentDiff | None
    pid: int
    smtp: str | None = None
    """Where it receives mails, as a URL; None: nowhere."""


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """What `picloud up` asks of the node, apart from its settings."""

    manifest: Manifest | None
    """An app to deploy at the start, checked."""
    announce: Callable[[NodeInfo], None]
    """Called once, when the node is ready."""


@dataclass(frozen=True, slots=True)
class Entrypoints:
    """The functions that only the composition root has."""

    run_node: Callable[[Settings, NodeOptions], int]
    """Run a node until it has ended; return the exit code."""
