"""What a cron trigger is to be: when, and which script or queue; checked in one place for all who ask for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from picloud.backoff import SHAPES
from picloud.catch_up import DEFAULT_LIMIT, MAX_LIMIT, POLICIES, CatchUp
from picloud.config import suggest
from picloud.errors import InvalidInput, InvalidName
from picloud.names import check_queue_name
from picloud.payload import MAX_PAYLOAD_BYTES, encode_payload
from picloud.schedules import Schedule, parse_schedule
from picloud.types import BackoffShape, Json
from picloud.zones import DEFAULT_ZONE

_RANGES = {"catch_up_limit": (1, MAX_LIMIT), "retry_max_attempts": (1, 100), "retry_base_ms": (1, 3_600_000)}
_CHOICES = {"catch_up": POLICIES, "retry_backoff": tuple(SHAPES)}


@dataclass(frozen=True, slots=True)
class CronTriggerSpec:
    """When something is due, and what: a script that runs, or a queue that gets `payload` as a message."""

    schedule: str
    timezone: str = DEFAULT_ZONE
    """IANA name."""
    script: str | None = None
    queue_name: str | None = None
    payload: Json = None
    catch_up: CatchUp = "one"
    catch_up_limit: int = DEFAULT_LIMIT
    """How many missed times `all` makes up for."""
    enabled: bool = True
    retry_max_attempts: int = 3
    """Of a script; messages have the settings of their queue."""
    retry_backoff: BackoffShape = "exponential"
    retry_base_ms: int = 1000

    @property
    def name(self) -> str:
        """What tells it apart from the app's other schedules."""
        target = f"queue {self.queue_name}" if self.script is None else self.script
        return f"{' '.join(str(self.schedule).split())} {self.timezone} → {target}"

    def parse(self) -> Schedule:
        """Return the schedule. Raises: InvalidInput."""
        if not isinstance(self.schedule, str):
            _fail("schedule", f"must be text such as '0 2 * * *' or '@hourly', not {self.schedule!r:.60}")
        if not isinstance(self.timezone, str):
            _fail("timezone", f"must be a name such as 'Europe/Berlin', not {self.timezone!r:.60}")
        return parse_schedule(self.schedule, self.timezone)


def check_cron_spec(spec: CronTriggerSpec, *, max_payload_bytes: int = MAX_PAYLOAD_BYTES) -> tuple[Schedule, str]:
    """Return the schedule, and the payload as JSON text. Whether the script is there, the caller must see.

    Raises: InvalidInput whose `pointer` leads to the field, InvalidName, InvalidPayload, PayloadTooLarge.
    """
    if (spec.script is None) == (spec.queue_name is None):
        given = "neither" if spec.script is None else "both"
        _fail("script", f"name a script to run or a queue to send to, one of the two: {given} is given")
    if spec.queue_name is not None:
        try:
            check_queue_name(spec.queue_name)
        except InvalidName as error:
            error.pointer = "/queue_name"
            raise
    for name, (low, high) in _RANGES.items():
        value = getattr(spec, name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            _fail(name, f"must be a whole number from {low} to {high}, not {value!r:.60}")
    for name, choices in _CHOICES.items():
        value = getattr(spec, name)
        if value not in choices:
            hint = suggest(value, choices) if isinstance(value, str) else ""
            _fail(name, f"must be one of {', '.join(choices)}, not {value!r:.60}{hint}")
    if not isinstance(spec.enabled, bool):
        _fail("enabled", f"must be true or false, not {spec.enabled!r:.60}")
    schedule = spec.parse()
    try:
        return schedule, encode_payload(spec.payload, max_bytes=max_payload_bytes)
    except InvalidInput as error:
        error.pointer = "/payload" + (error.pointer or "")
        raise


def _fail(field: str, fault: str) -> NoReturn:
    raise InvalidInput(f"{field}: {fault}", pointer=f"/{field}")
