"""What a dead-letter trigger is to be: which script hears of which dead letters; checked in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from picloud.backoff import SHAPES
from picloud.config import suggest
from picloud.errors import InvalidInput, InvalidName
from picloud.names import check_queue_name
from picloud.types import BackoffShape

SOURCES = ("queue", "invoke", "cron", "email")
"""What dead letters come from. Those of dead-letter handlers fan out to nobody."""

_RANGES = {"retry_max_attempts": (1, 100), "retry_base_ms": (1, 3_600_000)}
_CHOICES = {"source": (None, *SOURCES), "retry_backoff": tuple(SHAPES)}


@dataclass(frozen=True, slots=True)
class DeadLetterTriggerSpec:
    """A script that hears of new dead letters, of all that `source` and `queue_name` let through; None: any."""

    script: str
    source: str | None = None
    queue_name: str | None = None
    enabled: bool = True
    retry_max_attempts: int = 3
    retry_backoff: BackoffShape = "exponential"
    retry_base_ms: int = 1000

    @property
    def name(self) -> str:
        """What tells it apart from the app's other dead-letter triggers."""
        of = f"queue {self.queue_name}" if self.queue_name is not None else self.source or "any source"
        return f"dead letters of {of} → {self.script}"


def check_dead_letter_spec(spec: DeadLetterTriggerSpec) -> None:
    """Check all but whether the script is there.

    Raises: InvalidInput whose `pointer` leads to the field, InvalidName.
    """
    for name, choices in _CHOICES.items():
        value = getattr(spec, name)
        if value not in choices:
            known = [choice for choice in choices if choice is not None]
            hint = suggest(value, known) if isinstance(value, str) else ""
            _fail(name, f"must be one of {', '.join(known)}, not {value!r:.60}{hint}")
    if spec.queue_name is not None:
        if spec.source not in (None, "queue"):
            _fail("source", f"'{spec.source}' has no queues: leave out `queue`, or the source")
        try:
            check_queue_name(spec.queue_name)
        except InvalidName as error:
            error.pointer = "/queue_name"
            raise
    for name, (low, high) in _RANGES.items():
        value = getattr(spec, name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            _fail(name, f"must be a whole number from {low} to {high}, not {value!r:.60}")
    if not isinstance(spec.enabled, bool):
        _fail("enabled", f"must be true or false, not {spec.enabled!r:.60}")


def _fail(field: str, fault: str) -> NoReturn:
    raise InvalidInput(f"{field}: {fault}", pointer=f"/{field}")
