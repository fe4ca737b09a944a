"""What a script of an `email` trigger is given: `def handle(event: EmailEvent, ctx): …`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypedDict


class Attachment(TypedDict):
    """A file of a mail."""

    name: str | None
    type: str
    """Such as `image/png`, as the sender says."""
    size: int
    """Bytes of the file."""
    content: str | None
    """Base64 of the file; None where it did not fit into the event."""
    truncated: bool
    """Whether the content was left out."""


@dataclass(frozen=True, slots=True)
class EmailEvent:
    """A mail arrived for an address of the app. `event["from"]` is `sender`, since `from` is a word of Python.

    Anybody can write any `From`: do not trust a sender with more than you would trust a stranger.
    """

    recipient: str
    """The address that it arrived for, with what stands behind a `+`."""
    sender: str
    """Address of the header From; without one, `envelope_from`."""
    to: Sequence[str]
    """Addresses of the header To."""
    subject: str
    text: str | None
    html: str | None
    headers: Mapping[str, str]
    """By lower-case name, decoded; a repeated header's values each on a line of its own."""
    attachments: Sequence[Attachment]
    message_id: str
    """Header Message-ID. A mail that is sent twice is delivered twice: this tells."""
    envelope_from: str
    """Where a bounce would go; empty for a mail that is a bounce itself."""
    truncated: bool
    """Whether anything was left out because it did not fit."""

    source: ClassVar[str] = "email"
