"""What a dead-letter trigger is to be: which script hears of which dead letters; checked in one place."""

from __future__ import annotations

from dataclasses import dataclass

from picloud.field_checks import (
    RETRY_CHOICES,
    RETRY_RANGES,
    check_choices,
    check_name,
    check_ranges,
    check_switch,
    fail_field,
)
from picloud.names import check_queue_name
from picloud.types import BackoffShape

SOURCES = ("queue", "invoke", "cron", "email")
"""What dead letters come from. Those of dead-letter handlers fan out to nobody."""

_CHOICES = {"source": (None, *SOURCES), **RETRY_CHOICES}


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
    check_choices(spec, _CHOICES)
    if spec.queue_name is not None:
        if spec.source not in (None, "queue"):
            fail_field("source", f"'{spec.source}' has no queues: leave out `queue`, or the source")
        check_name("queue_name", check_queue_name, spec.queue_name)
    check_ranges(spec, RETRY_RANGES)
    check_switch(spec, "enabled")
