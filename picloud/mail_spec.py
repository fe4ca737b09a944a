"""What an email trigger is to be, and which address is whose; checked in one place for all who ask for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from picloud.backoff import SHAPES
from picloud.config import suggest
from picloud.errors import InvalidInput, InvalidName
from picloud.names import check_app_name, check_mailbox_name
from picloud.types import BackoffShape

MAX_ADDRESS_CHARS = 254
"""Of any address, by RFC 5321."""
_RANGES = {"retry_max_attempts": (1, 100), "retry_base_ms": (1, 3_600_000)}


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
    try:
        check_mailbox_name(spec.name)
    except InvalidName as error:
        error.pointer = "/name"
        raise
    for name, (low, high) in _RANGES.items():
        value = getattr(spec, name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            _fail(name, f"must be a whole number from {low} to {high}, not {value!r:.60}")
    if spec.retry_backoff not in SHAPES:
        hint = suggest(spec.retry_backoff, SHAPES) if isinstance(spec.retry_backoff, str) else ""
        _fail("retry_backoff", f"must be one of {', '.join(SHAPES)}, not {spec.retry_backoff!r:.60}{hint}")
    if not isinstance(spec.enabled, bool):
        _fail("enabled", f"must be true or false, not {spec.enabled!r:.60}")


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


def _fail(field: str, fault: str) -> NoReturn:
    raise InvalidInput(f"{field}: {fault}", pointer=f"/{field}")
