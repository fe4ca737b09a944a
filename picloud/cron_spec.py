"""What a cron trigger is to be: when, and which script or queue; checked in one place for all who ask for one."""

from __future__ import annotations

from dataclasses import dataclass

from picloud.catch_up import DEFAULT_LIMIT, MAX_LIMIT, POLICIES, CatchUp
from picloud.errors import InvalidInput
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
from picloud.payload import MAX_PAYLOAD_BYTES, encode_payload
from picloud.schedules import Schedule, parse_schedule
from picloud.types import BackoffShape, Json
from picloud.zones import DEFAULT_ZONE

_RANGES = {"catch_up_limit": (1, MAX_LIMIT), **RETRY_RANGES}
_CHOICES = {"catch_up": POLICIES, **RETRY_CHOICES}


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
            fail_field("schedule", f"must be text such as '0 2 * * *' or '@hourly', not {self.schedule!r:.60}")
        if not isinstance(self.timezone, str):
            fail_field("timezone", f"must be a name such as 'Europe/Berlin', not {self.timezone!r:.60}")
        return parse_schedule(self.schedule, self.timezone)


def check_cron_spec(spec: CronTriggerSpec, *, max_payload_bytes: int = MAX_PAYLOAD_BYTES) -> tuple[Schedule, str]:
    """Return the schedule, and the payload as JSON text. Whether the script is there, the caller must see.

    Raises: InvalidInput whose `pointer` leads to the field, InvalidName, InvalidPayload, PayloadTooLarge.
    """
    if (spec.script is None) == (spec.queue_name is None):
        given = "neither" if spec.script is None else "both"
        fail_field("script", f"name a script to run or a queue to send to, one of the two: {given} is given")
    if spec.queue_name is not None:
        check_name("queue_name", check_queue_name, spec.queue_name)
    check_ranges(spec, _RANGES)
    check_choices(spec, _CHOICES)
    check_switch(spec, "enabled")
    schedule = spec.parse()
    try:
        return schedule, encode_payload(spec.payload, max_bytes=max_payload_bytes)
    except InvalidInput as error:
        error.pointer = "/payload" + (error.pointer or "")
        raise
