"""What becomes of a mail that is offered: whose it is, and its way into the outbox. Of SMTP it knows the replies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import trio

from picloud.db.email_triggers import Recipient
from picloud.errors import DatabaseUnavailable, InvalidInput, PayloadTooLarge, TriggerNotFound
from picloud.mail_event import encode_mail
from picloud.mail_parsing import parse_mail
from picloud.mail_spec import Mailbox, find_mailbox
from picloud.types import TriggerId

FindTrigger = Callable[[Mailbox], Awaitable[TriggerId | None]]
StoreMail = Callable[[str, Sequence[Recipient]], Awaitable[list[UUID]]]
"""Puts an event into the outbox for each recipient, in one transaction that is durable when it returns."""

MAX_RECIPIENTS = 100
"""Of one mail, as RFC 5321 wants at least."""
MAX_PARSERS = 2
"""Mails read at once: each may take some ten times its size of memory."""

UNKNOWN = "550 5.1.1 no such address here, and nothing is relayed"
TOO_MANY = "452 4.5.3 too many recipients: send the mail again to the others"
OUTAGE = "451 4.3.0 cannot be stored at the moment: try again later"
CHANGED = "451 4.3.5 an address was deleted at this moment: try again"
TOO_LARGE = "552 5.3.4 the mail is larger than what is accepted here"
TOO_COMPLEX = "554 5.6.0 the mail cannot be read: too many parts, levels, headers or lines"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the sender is told; `recipient` where an address was accepted."""

    text: str
    recipient: Recipient | None = None


class MailIntake:
    """Take mails in. A reply of 250 means that the mail is in the database."""

    def __init__(
        self,
        find_trigger: FindTrigger,
        store_mail: StoreMail,
        *,
        domain: str | None,
        max_event_bytes: int,
        on_stored: Callable[[], None] = lambda: None,
    ) -> None:
        self.accepted = self.refused = self.deferred = 0
        self._find_trigger = find_trigger
        self._store_mail = store_mail
        self._domain = domain
        self._max_event_bytes = max_event_bytes
        self._on_stored = on_stored
        self._parsers = trio.CapacityLimiter(MAX_PARSERS)

    async def check_recipient(self, address: str, others: Sequence[Recipient]) -> Reply:
        """Say whether a mail to an address is wanted, after `others` were."""
        if len(others) >= MAX_RECIPIENTS:
            return Reply(TOO_MANY)
        mailbox = find_mailbox(address, self._domain)
        try:
            trigger_id = None if mailbox is None else await self._find_trigger(mailbox)
        except DatabaseUnavailable:
            return Reply(self._defer(OUTAGE))
        if trigger_id is None:
            return Reply(self._refuse(UNKNOWN))
        return Reply("250 2.1.5 ok", Recipient(address.lower(), trigger_id))

    async def take(self, sender: str, recipients: Sequence[Recipient], raw: bytes | bytearray) -> str:
        """Read a mail, store it for all who want it, and return the reply."""
        try:
            event = await trio.to_thread.run_sync(partial(self._read, sender, raw), limiter=self._parsers)
            # an address that was named twice gets it once
            ids = await self._store_mail(event, list(dict.fromkeys(recipients)))
        except PayloadTooLarge:
            return self._refuse(TOO_LARGE)
        except InvalidInput:
            return self._refuse(TOO_COMPLEX)
        except TriggerNotFound:
            return self._defer(CHANGED)
        except DatabaseUnavailable:
            return self._defer(OUTAGE)
        self.accepted += 1
        self._on_stored()
        return f"250 2.0.0 stored as {ids[0]}"

    def refuse_size(self) -> str:
        """Return the reply to a mail that is too large to be received."""
        return self._refuse(TOO_LARGE)

    def _read(self, sender: str, raw: bytes | bytearray) -> str:
        return encode_mail(parse_mail(raw), envelope_from=sender, max_bytes=self._max_event_bytes)

    def _refuse(self, reply: str) -> str:
        self.refused += 1
        return reply

    def _defer(self, reply: str) -> str:
        self.deferred += 1
        return reply
