"""What the tree shows of a child for as long as its state stays the same."""

from __future__ import annotations

import json
from functools import lru_cache
from json.encoder import encode_basestring as quote
from typing import Literal, NamedTuple

from picloud.actors.runtime.exits import Exit
from picloud.actors.runtime.health import Health
from picloud.actors.runtime.rfc3339 import format_time
from picloud.actors.runtime.spec import ChildType, Restart

Status = Literal["starting", "running", "backing_off", "parked", "stopping", "stopped"]


class Record(NamedTuple):
    """What the tree shows of a child and what stays the same until its state changes: made once, shown often.

    Units: `started_at` in seconds since the epoch, `clock` in Trio's seconds.
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
    last_exit: Exit | None
    health: Health
    """Of an actor that says nothing of it."""
    clock: float | None
    """When the present incarnation started; None where none runs."""
    text: str
    """All above but the health as the beginning of a JSON object."""
    health_text: str


@lru_cache(maxsize=32768)
def encode_health(health: Health) -> str:
    """Return an actor's health as JSON."""
    error = "null" if health.error is None else quote(health.error)
    return f'{{"state":"{health.state}","since":"{format_time(health.since)}","error":{error}}}'


def encode_exit(ended: Exit) -> str:
    """Return the end of an incarnation as JSON."""
    return json.dumps(ended._asdict() | {"at": format_time(ended.at)})
