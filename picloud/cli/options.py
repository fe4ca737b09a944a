"""Options that commands share, and what they resolve to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from picloud.cli.client import Client

P = ParamSpec("P")
R = TypeVar("R")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, errors included (on stderr).")

home_option = click.option(
    "--data-dir",
    "home",
    envvar="PICLOUD_HOME",
    show_envvar=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Data folder. Default: $XDG_DATA_HOME/picloud, as root /var/lib/picloud.",
)


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """What was given of where the node is; the rest is read from the data folder."""

    url: str | None
    token: str | None
    home: Path | None

    def connect(self) -> Client:
        """Return a client for the node. Raises: Unauthorized, NodeUnreachable, InvalidSetting."""
        from picloud.cli.client import Client
        from picloud.cli.credentials import find_credentials
        from picloud.config import default_home

        return Client(find_credentials(self.home or default_home(), url=self.url, token=self.token))

    def words(self) -> list[str]:
        """Return the options that lead to the same node, without the token."""
        given = (("--url", self.url), ("--data-dir", None if self.home is None else str(self.home)))
        return [word for name, value in given if value is not None for word in (name, value)]


def node_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add --url, --token and --data-dir; the command gets them as `node: NodeAddress`."""

    @click.option("--url", envvar="PICLOUD_URL", show_envvar=True, help="The node. Default: the one started here.")
    @click.option("--token", envvar="PICLOUD_TOKEN", show_envvar=True, help="API token. Default: of the node here.")
    @home_option
    @functools.wraps(command)
    def with_node(*args: Any, url: str | None, token: str | None, home: Path | None, **kwargs: Any) -> R:
        return command(*args, node=NodeAddress(url, token, home), **kwargs)

    return with_node
