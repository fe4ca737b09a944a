"""What an email trigger is to be, and which address is whose; checked in one place for all who ask for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from picloud.errors import InvalidName
from picloud.field_checks import RETRY_CHOICES, RETRY_RANGES, check_choices, check_name, check_ranges, check_switch
from picloud.names import check_app_name, check_mailbox_name
from picloud.types import BackoffShape

MAX_ADDRESS_CHARS = 254
"""Of any address, by RFC 5321."""


@dataclass(frozen=True, slots=True)
class EmailTriggerSpec:
    """Which script is run for mails to which address of the app."""

    name: str
    """What stands before the @: `orders` for `orders@shop`, and for `orders+anything@shop`."""
    script: str
    enabled: bool = True
    retry_max_attempts: int = 3
    retry_backoff: BackoffShape = "exponential"
    retry_base_ms: int = 1000


def check_email_spec(spec: EmailTriggerSpec) -> None:
    """Check what a trigger is to be. Whether the script is there, the caller must see.

    Raises: InvalidName, InvalidInput; `pointer` leads to the field.
    """
    check_name("name", check_mailbox_name, spec.name)
    check_ranges(spec, RETRY_RANGES)
    check_choices(spec, RETRY_CHOICES)
    check_switch(spec, "enabled")


class Mailbox(NamedTuple):
    """Whom an address is for."""

    app: str
    name: str


def find_mailbox(address: str, domain: str | None) -> Mailbox | None:
    """Return whom `name@app` is for, and `name@app.DOMAIN` where a domain is given; None for any other address.

    Case does not matter, and what follows a `+` in the name does not either.
    """
    local, at, host = address.lower().rpartition("@")
    if not at or len(address) > MAX_ADDRESS_CHARS or not address.isascii():
        return None
    app = host if domain is None else host.removesuffix(f".{domain.lower()}")
    name = local.partition("+")[0]
    try:
        return Mailbox(check_app_name(app), check_mailbox_name(name))
    except InvalidName:
        return None
