"""The event that a mail becomes: JSON within the limit of a payload, whatever the mail holds."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping

from picloud.mail_parsing import Mail, MailPart
from picloud.payload import check_size
from picloud.types import Json

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_OVERHEAD_BYTES = 512
"""Names of the event's fields, and its recipient."""
_HEADERS_SHARE = 0.25
"""Of the limit, at most: headers are the least that a handler looks for."""


def encode_mail(mail: Mail, *, envelope_from: str, max_bytes: int) -> str:
    """Return the event of a mail as JSON text, all but its recipient.

    What does not fit is left out and told by `truncated`: the content of attachments first, the largest before the
    others, then the ends of the HTML and of the text.
    Raises: PayloadTooLarge when not even the rest fits.
    """
    text = _ENCODE(make_event(mail, envelope_from=envelope_from, max_bytes=max_bytes))
    check_size(len(text.encode()), "mail", max_bytes)
    return text


def make_event(mail: Mail, *, envelope_from: str, max_bytes: int) -> dict[str, Json]:
    """Return the event of a mail, cut to some `max_bytes` of JSON text."""
    room = _Room(max_bytes - _OVERHEAD_BYTES)
    sender = mail.sender or envelope_from
    room.take([sender, envelope_from, mail.subject, mail.message_id, mail.to])
    headers = _fit_headers(mail.headers, _Room(int(room.left * _HEADERS_SHARE)))
    room.take(headers)
    described = ((_describe(part), part.data) for part in mail.parts)
    files = [(one, data) for one, data in described if room.take(one)]
    text, html = _fit_text(mail.text, room), _fit_text(mail.html, room)
    _fill(files, room)
    is_whole = (
        not mail.is_cut
        and (text, html, len(headers)) == (mail.text, mail.html, len(mail.headers))
        and len(files) == len(mail.parts)
        and not any(one["truncated"] for one, _ in files)
    )
    return {
        "from": sender,
        "to": list(mail.to),
        "subject": mail.subject,
        "text": text,
        "html": html,
        "headers": headers,
        "attachments": [one for one, _ in files],
        "message_id": mail.message_id,
        "envelope_from": envelope_from,
        "truncated": not is_whole,
    }


class _Room:
    """Bytes of JSON text that are left."""

    def __init__(self, max_bytes: int) -> None:
        self.left = max_bytes

    def take(self, value: Json) -> bool:
        size = _measure(value) + 1
        if size > self.left:
            return False
        self.left -= size
        return True


def _fit_headers(headers: Mapping[str, str], room: _Room) -> dict[str, str]:
    return {name: value for name, value in headers.items() if room.take([name, value])}


def _fit_text(text: str | None, room: _Room) -> str | None:
    """Return the beginning of a text that fits."""
    if text is None:
        return None
    while text and (size := _measure(text) + 1) > room.left:
        # a little less than its share: some characters take more bytes than others
        text = text[: int(len(text) * max(room.left, 0) / size * 0.98)]
    room.take(text)
    return text


def _describe(part: MailPart) -> dict[str, Json]:
    return {"name": part.name, "type": part.type, "size": len(part.data), "content": None, "truncated": True}


def _fill(files: list[tuple[dict[str, Json], bytes]], room: _Room) -> None:
    """Put contents in, the smallest first, as long as they fit."""
    for described, data in sorted(files, key=lambda file: len(file[1])):
        size = (len(data) + 2) // 3 * 4
        if size > room.left:
            return
        room.left -= size
        described.update(content=b64encode(data).decode("ascii"), truncated=False)


def _measure(value: Json) -> int:
    return len(_ENCODE(value).encode())
