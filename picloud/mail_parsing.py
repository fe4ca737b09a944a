"""Mails as they arrive: RFC 5322 bytes, often broken and sometimes hostile, read into plain records.

The standard library's parser does the reading. Here are its bounds: it is fed piece by piece under a limit of processor
time, with limits on parts, nesting and headers, and what comes out is text that JSON and PostgreSQL carry.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.errors import MessageError
from email.headerregistry import AddressHeader
from email.message import EmailMessage
from email.parser import BytesFeedParser
from email.policy import EmailPolicy, Policy
from email.utils import parseaddr
from encodings.aliases import aliases
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from picloud.errors import InvalidInput

MAX_PARTS = 500
MAX_DEPTH = 50
"""Levels of parts in parts; a mail that was forwarded often has ten."""
MAX_HEADERS = 10_000
"""Of all parts together."""
MAX_HEADER_CHARS = 8192
"""What is longer is cut: a header takes time in the square of its length (0.7 s for the worst of 8 KiB, 2026-12)."""
MIN_LINE_BYTES = 10
"""On average, of a mail with more than FREE_LINES: a line costs the parser some 60 bytes, however short it is."""
FREE_LINES = 100_000
MAX_SHOWN_HEADERS = 500
MAX_NAME_CHARS = 255
CPU_SECS = 5.0
"""Processor time of one mail; an ordinary one of 10 MiB takes half a second."""
CHUNK_BYTES = 16 * 1024
"""How much is parsed between two looks at the clock."""

if TYPE_CHECKING:
    _DefaultPolicy: TypeAlias = EmailPolicy[EmailMessage]
else:
    _DefaultPolicy = EmailPolicy

STDLIB_FAULTS = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError, MessageError)
"""What the standard library's email package is known to raise on hostile input."""

_REFUSED_CODECS = frozenset(
    "idna punycode unicode_escape raw_unicode_escape undefined mbcs oem "  # slow, or not for mails
    "rot_13 base64_codec hex_codec bz2_codec uu_codec zlib_codec quopri_codec".split()  # not for text
)
_CODECS = frozenset(
    name
    for name in {*aliases, *aliases.values(), "utf_8_sig", "koi8_u", "cp874", "cp1006", "kz1048"}
    if aliases.get(name, name) not in _REFUSED_CODECS
)
"""Character sets that are looked up: Python keeps every name that it was ever asked for."""
_ENCODED_WORD = re.compile(r"=\?([^?\s]{0,200})(\?[bBqQ]\?)")
_EXTENDED_VALUE = re.compile(r"(\*\s*=\s*\"?)([^'\";]{0,200})(')")
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\0-\x08\x0a-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class MailPart:
    """What is neither the text nor the HTML of a mail: a file, mostly."""

    name: str | None
    type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """What a mail says of itself. Texts hold no NUL and no lone surrogate; headers and names are single lines."""

    sender: str
    """Address of From; empty where there is none that can be read."""
    to: tuple[str, ...]
    subject: str
    message_id: str
    headers: Mapping[str, str]
    """By lower-case name; the values of a repeated header, each on a line of its own."""
    text: str | None
    html: str | None
    parts: tuple[MailPart, ...]
    is_cut: bool
    """Whether a header was too long, or there were too many."""


def parse_mail(raw: bytes | bytearray) -> Mail:
    """Read a mail. To be called in a worker thread.

    Raises: InvalidInput for one with too many parts, levels or headers, or that takes too long.
    """
    bounds = _Bounds()
    try:
        message = _parse(raw, bounds)
        _check_depth(message)
        return _read(message, bounds)
    except STDLIB_FAULTS as error:
        raise InvalidInput(f"mail: its structure cannot be read ({type(error).__name__})") from error


@dataclass(slots=True)
class _Bounds:
    """What one mail may cost, and what it has cost so far."""

    ends: float = field(default_factory=lambda: time.thread_time() + CPU_SECS)
    parts: int = 0
    headers: int = 0
    is_cut: bool = False

    def check(self) -> None:
        if time.thread_time() > self.ends:
            raise InvalidInput(f"mail: reading it took more than {CPU_SECS:g} s")

    def new_part(self, policy: Policy[EmailMessage] | None = None) -> EmailMessage:
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise InvalidInput(f"mail: more than {MAX_PARTS} parts")
        self.check()
        return EmailMessage(policy)

    def new_header(self) -> None:
        self.headers += 1
        if self.headers > MAX_HEADERS:
            raise InvalidInput(f"mail: more than {MAX_HEADERS} headers")


class _BoundedPolicy(_DefaultPolicy):
    """The default policy with bounds: headers are counted and cut, and no header's fault ends the parsing."""

    bounds: _Bounds

    @classmethod
    def of(cls, bounds: _Bounds) -> Self:
        policy: Self = cls(message_factory=bounds.new_part)
        # policies refuse to be changed, and take only what the standard library knows
        object.__setattr__(policy, "bounds", bounds)
        return policy

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        self.bounds.new_header()
        kept, left = [], MAX_HEADER_CHARS
        for line in sourcelines:
            kept.append(line[:left])
            left -= len(line)
            if left < 0:
                self.bounds.is_cut = True
                break
        name, value = super().header_source_parse(kept)
        return name, _EXTENDED_VALUE.sub(_known_extended, _ENCODED_WORD.sub(_known_word, value))

    def header_fetch_parse(self, name: str, value: str) -> Any:
        self.bounds.check()
        try:
            return super().header_fetch_parse(name, value)
        except STDLIB_FAULTS:
            return "".join(value.splitlines())


def _parse(raw: bytes | bytearray, bounds: _Bounds) -> EmailMessage:
    lines = raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")
    if lines > max(FREE_LINES, len(raw) // MIN_LINE_BYTES):
        raise InvalidInput(f"mail: {lines:,} lines in {len(raw):,} bytes")
    parser: Any = BytesFeedParser(policy=_BoundedPolicy.of(bounds))
    for start in range(0, len(raw), CHUNK_BYTES):
        parser.feed(raw[start : start + CHUNK_BYTES])
        bounds.check()
    message: EmailMessage = parser.close()
    return message


def _check_depth(message: EmailMessage) -> None:
    todo = [(message, 1)]
    while todo:
        part, depth = todo.pop()
        if depth > MAX_DEPTH:
            raise InvalidInput(f"mail: parts in parts, deeper than {MAX_DEPTH} levels")
        if part.is_multipart():
            todo.extend((child, depth + 1) for child in _children(part))


def _read(message: EmailMessage, bounds: _Bounds) -> Mail:
    text: str | None = None
    html: str | None = None
    parts: list[MailPart] = []
    for part in _leaves(message):
        bounds.check()
        kind = part.get_content_type()
        if kind.startswith("multipart/"):
            # one that has no parts
            kind = "text/plain"
        if kind == "text/plain" and text is None and _is_inline(part):
            text = _decode_text(part)
        elif kind == "text/html" and html is None and _is_inline(part):
            html = _decode_text(part)
        else:
            parts.append(MailPart(_file_name(part), clean_line(kind)[:MAX_NAME_CHARS], _decode_bytes(part, bounds)))
    headers = _headers(message, bounds)
    senders = _addresses(message, "from") or [""]
    return Mail(
        sender=senders[0],
        to=tuple(_addresses(message, "to")),
        subject=clean_line(str(message.get("subject", ""))),
        message_id=clean_line(str(message.get("message-id", ""))).strip(),
        headers=headers,
        text=text,
        html=html,
        parts=tuple(parts),
        is_cut=bounds.is_cut,
    )


def _leaves(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield what is not a container; a mail inside a mail is a file."""
    todo = [message]
    while todo:
        part = todo.pop()
        if part.is_multipart() and part.get_content_maintype() == "multipart":
            todo.extend(reversed(_children(part)))
        else:
            yield part


def _children(part: EmailMessage) -> list[EmailMessage]:
    payload: Any = part.get_payload()
    return list(payload)


def _is_inline(part: EmailMessage) -> bool:
    return part.get_content_disposition() != "attachment" and not part.get_filename()


def _headers(message: EmailMessage, bounds: _Bounds) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for at, (name, raw) in enumerate(message.raw_items()):
        if at >= MAX_SHOWN_HEADERS:
            bounds.is_cut = True
            break
        values.setdefault(clean_line(name.lower()), []).append(
            clean_line(str(message.policy.header_fetch_parse(name, raw)))
        )
    return {name: "\n".join(found) for name, found in values.items()}


def _addresses(message: EmailMessage, name: str) -> list[str]:
    """Return the addresses of a header without the names."""
    value = message.get(name)
    if value is None:
        return []
    try:
        found = [one.addr_spec for one in value.addresses] if isinstance(value, AddressHeader) else []
    except STDLIB_FAULTS:
        found = []
    found = [address for address in found if "@" in address] or [parseaddr(str(value))[1]]
    return [clean_line(address) for address in found if address]


def _file_name(part: EmailMessage) -> str | None:
    name = part.get_filename()
    if not name:
        return None
    # some programs send the whole path
    return re.split(r"[/\\]", clean_line(str(name)))[-1].strip()[-MAX_NAME_CHARS:] or None


def _decode_bytes(part: EmailMessage, bounds: _Bounds) -> bytes:
    if part.is_multipart():
        # message/rfc822, message/delivery-status and their like: written as they came
        policy = _BoundedPolicy.of(bounds).clone(refold_source="none", max_line_length=None)
        return b"\n".join(child.as_bytes(policy=policy) for child in _children(part))
    data: Any = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _decode_text(part: EmailMessage) -> str:
    data: Any = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    charset = str(part.get_param("charset", "") or "")
    return clean_text(_decode(data, charset)).replace("\r\n", "\n")


def _decode(data: bytes, charset: str) -> str:
    if charset.lower() not in {"", "us-ascii", "ascii"} and _is_known(charset):
        return data.decode(charset, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _is_known(charset: str) -> bool:
    return charset.lower().replace("-", "_").replace(".", "_").replace(":", "_") in _CODECS


def _known_word(match: re.Match[str]) -> str:
    charset, _, language = match[1].partition("*")
    return match[0] if _is_known(charset) and len(language) < 40 else f"=?unknown-8bit{match[2]}"


def _known_extended(match: re.Match[str]) -> str:
    return match[0] if not match[2] or _is_known(match[2]) else f"{match[1]}utf-8{match[3]}"


def clean_text(text: str) -> str:
    """Return text that JSON and PostgreSQL carry: without NUL and lone surrogates."""
    return _SURROGATES.sub("\ufffd", text.replace("\0", "\ufffd"))


def clean_line(text: str) -> str:
    """Return text on one line: an encoded line break must not make two headers of one."""
    return _CONTROLS.sub(" ", _SURROGATES.sub("\ufffd", text))
