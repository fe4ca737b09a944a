"""Messages out of a JSONL file into a queue, in batches; what was stored is known at every moment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from picloud.errors import InvalidInput, NodeRefused, NodeUnreachable, PicloudError, SendStopped
from picloud.payload import decode_payload

BATCH_MESSAGES = 500
BATCH_BYTES = 8 * 1024 * 1024
"""Half of the largest body a node takes."""
MAX_LINE_BYTES = 15 * 1024 * 1024
"""What fits into one request; a node's own limit of a payload is usually far lower."""

_MESSAGE_POINTER = re.compile(r"/messages/(\d+)")


@dataclass(frozen=True, slots=True)
class Line:
    """One message: its payload as JSON text that was checked, and where it stood."""

    number: int
    payload: str


@dataclass(slots=True)
class Sent:
    """What a node has stored so far."""

    messages: int = 0
    duplicates: int = 0


class BadLine(Exception):
    """A line that is no message; everything before it is."""

    def __init__(self, number: int, fault: str) -> None:
        super().__init__(fault)
        self.number = number


Post = Callable[[bytes], Mapping[str, Any]]
"""Send one request body; return the node's answer."""


class Progress(Protocol):
    """Where progress is shown."""

    def __call__(self, sent: Sent, bytes_read: int, /) -> None: ...


def send_lines(
    file: Iterable[bytes], options: str, post: Post, progress: Progress, resume: Callable[[int], str]
) -> Sent:
    """Send every line of `file` as one message; blank lines are skipped.

    `options` is JSON text that goes into every message after its payload; `resume` returns the command that goes on.
    Raises: SendStopped that says what was stored, what was not, and how to go on.
    """
    sent, bytes_read = Sent(), 0
    try:
        for batch, size in _batches(_read_lines(file)):
            try:
                answer = post(_body(batch, options))
            except PicloudError as error:
                raise _stopped(error, batch, sent, resume) from error
            sent.messages += answer["sent"]
            sent.duplicates += answer["duplicates"]
            bytes_read += size
            progress(sent, bytes_read)
    except BadLine as bad:
        story = f"line {bad.number}: {bad}\n{_so_far(sent)}; line {bad.number} and what follows was not"
        raise _stop(story, sent, bad.number, resume) from bad
    return sent


def check_payload(text: str | bytes) -> str:
    """Return JSON text that can be a payload. Raises: InvalidInput that says why not."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 text: byte {error.start + 1}: {error.reason}") from error
    decode_payload(text, max_bytes=MAX_LINE_BYTES)
    return text.strip()


def message_json(payload: str, options: str) -> str:
    """Return one message of a request's body as JSON text."""
    return f'{{"payload":{payload}{options}}}'


def _read_lines(file: Iterable[bytes]) -> Iterator[tuple[Line | None, int]]:
    """Yield the lines and their size in bytes; None for a blank one. Raises: BadLine."""
    for number, raw in enumerate(file, start=1):
        if not raw.strip():
            yield None, len(raw)
            continue
        try:
            yield Line(number, check_payload(raw)), len(raw)
        except InvalidInput as error:
            raise BadLine(number, str(error).removeprefix("queue: ")) from error


def _batches(lines: Iterator[tuple[Line | None, int]]) -> Iterator[tuple[list[Line], int]]:
    """Yield batches and how many bytes were read for each; what stands before a bad line comes first."""
    batch: list[Line] = []
    size = 0
    try:
        for line, line_size in lines:
            if batch and (len(batch) >= BATCH_MESSAGES or size + line_size > BATCH_BYTES):
                yield batch, size
                batch, size = [], 0
            size += line_size
            if line is not None:
                batch.append(line)
    except BadLine:
        if batch:
            yield batch, size
        raise
    if batch:
        yield batch, size


def _body(batch: list[Line], options: str) -> bytes:
    return f'{{"messages":[{",".join(message_json(line.payload, options) for line in batch)}]}}'.encode()


def _stopped(error: PicloudError, batch: list[Line], sent: Sent, resume: Callable[[int], str]) -> SendStopped:
    first, last = batch[0].number, batch[-1].number
    reason = _name_lines(error, batch) if isinstance(error, NodeRefused) else str(error)
    lines = f"lines {first} to {last}" if last > first else f"line {first}"
    if isinstance(error, NodeUnreachable) and error.maybe_done:
        story = f"{reason}\n{_so_far(sent)}; whether {lines} arrived is not known: look before you send them again"
    else:
        story = f"{reason}\n{_so_far(sent)}; {lines} and what follows was not"
    return _stop(story, sent, first, resume)


def _name_lines(error: NodeRefused, batch: list[Line]) -> str:
    """Return the node's errors with the numbers of the lines they are about."""
    found = []
    for fault in error.problem.get("errors") or ():
        if match := _MESSAGE_POINTER.match(fault.get("pointer") or ""):
            found.append(f"line {batch[int(match[1])].number}: {fault['detail'].removeprefix('queue: ')}")
    return "\n".join(found) or str(error)


def _so_far(sent: Sent) -> str:
    return f"{sent.messages + sent.duplicates:,} messages before were stored"


def _stop(story: str, sent: Sent, next_line: int, resume: Callable[[int], str]) -> SendStopped:
    story = f"{story}. Go on with:\n  {resume(next_line)}"
    return SendStopped(story, sent=sent.messages + sent.duplicates, next_line=next_line)
