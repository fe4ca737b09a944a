"""What a handler is called with: one frozen record per source. `event.payload` and `event["payload"]` both work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from picloud.sdk.mail import EmailEvent as SdkEmailEvent
from picloud.types import Json

E = TypeVar("E", bound="Event")


class Event:
    """Base of the records; scripts see the fields, `source`, and `get`."""

    __slots__ = ()
    source: ClassVar[str]
    names: ClassVar[frozenset[str]] = frozenset()
    """What may be read by attribute or subscript."""
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset()

    def __getitem__(self, name: str) -> Any:
        if type(name) is str and name in self.names:
            return getattr(self, name)
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or `default` where this kind of event has none of that name."""
        return getattr(self, name) if type(name) is str and name in self.names else default


def _shown(cls: type[E]) -> type[E]:
    """Let scripts read the fields of an event class."""
    constants = {name for name in ("source", "op") if hasattr(cls, name)}
    cls.names = frozenset({one.name for one in fields(cls)} | constants)  # type: ignore[arg-type]
    cls._sandbox_attrs_ = cls.names | {"get"}
    return cls


@_shown
@dataclass(frozen=True, slots=True)
class QueueEvent(Event):
    """A message of a queue. `payload` belongs to this event alone: a script may change it."""

    queue: str
    message_id: str
    payload: Json
    attempt: int
    """From 1."""
    max_attempts: int
    enqueued_at: datetime

    source: ClassVar[str] = "queue"
    op: ClassVar[str] = "receive"


@_shown
@dataclass(frozen=True, slots=True)
class InvokeEvent(Event):
    """Another script calls."""

    body: Json
    """The arguments, a copy."""
    caller: str
    """The calling script's name."""

    source: ClassVar[str] = "invoke"


@_shown
@dataclass(frozen=True, slots=True)
class HttpEvent(Event):
    """A request for a route of the app."""

    method: str
    path: str
    params: Mapping[str, str]
    """Of the route's pattern."""
    query: Mapping[str, str]
    """The first value of each parameter."""
    headers: Mapping[str, str]
    """By lower-case name."""
    body: Json
    """Decoded JSON, the fields of a form, or text; None for all else."""
    raw: bytes
    query_all: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Every value of each parameter."""

    source: ClassVar[str] = "http"


@_shown
@dataclass(frozen=True, slots=True)
class CronEvent(Event):
    """A schedule is due."""

    scheduled_for: datetime
    """As the clock of the trigger's time zone shows it, with its offset."""
    payload: Json
    """Of the trigger."""

    source: ClassVar[str] = "cron"


@_shown
@dataclass(frozen=True, slots=True)
class DeadLetterEvent(Event):
    """Something was given up after its last attempt."""

    dead_letter_id: str
    original: Json
    """The event that failed, as a dict."""
    error: Json
    attempts: int

    source: ClassVar[str] = "dead_letter"


class EmailEvent(SdkEmailEvent, Event):
    """A mail arrived for an address of the app."""

    __slots__ = ()
    source: ClassVar[str] = "email"
    names: ClassVar[frozenset[str]] = frozenset({*(field.name for field in fields(SdkEmailEvent)), "source", "from"})
    _sandbox_attrs_: ClassVar[frozenset[str]] = names | {"get"}

    @classmethod
    def of(cls, stored: Mapping[str, Json]) -> EmailEvent:
        """Return what a row of the outbox stands for."""
        return cls(sender=stored["from"], **{name: value for name, value in stored.items() if name != "from"})


# no attribute can be written that way, but a subscript can
setattr(EmailEvent, "from", property(lambda event: event.sender))

EVENTS: dict[str, type[Event]] = {
    cls.source: cls for cls in (QueueEvent, InvokeEvent, HttpEvent, CronEvent, DeadLetterEvent, EmailEvent)
}
"""Event classes by their `source`."""
