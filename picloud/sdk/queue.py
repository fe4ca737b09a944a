"""Durable queues of this app.

Atomic: messages are committed together with the acknowledgement of what the handler works on, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from picloud.sdk.outside import refuse
from picloud.types import Json


def enqueue(
    name: str,
    payload: Json,
    *,
    delay: float | str | timedelta | None = None,
    deliver_after: datetime | str | None = None,
    priority: int = 0,
    max_attempts: int | None = None,
    dedup_key: str | None = None,
    group_key: str | None = None,
    immediate: bool = False,
) -> str:
    """Send a message; return its id at once, without a round trip.

    `payload` is encoded now: later changes of it are not sent. `delay` is seconds or text such as `"30s"`, from the
    commit on; `deliver_after` is a time with a time zone instead. Of the messages that are due, those of higher
    `priority` (0 to 9) go first. While the queue holds a message of the same `dedup_key`, another one is
    dropped at the commit. Of the messages of one `group_key` only one is handled at a time, in the order they were
    sent, while other keys go on; one that failed holds its key up until it succeeds or is a dead letter.
    `immediate` commits this message now, whatever becomes of the handler: for news of progress.

    Raises: InvalidName, InvalidPayload, PayloadTooLarge, InvalidInput (an option).
    """
    refuse("queue.enqueue")


def enqueue_many(
    name: str,
    payloads: Sequence[Json],
    *,
    delay: float | str | timedelta | None = None,
    deliver_after: datetime | str | None = None,
    priority: int = 0,
    max_attempts: int | None = None,
    group_key: str | None = None,
    immediate: bool = False,
) -> list[str]:
    """Send one message per payload, all with the same options; return their ids. All are sent, or none."""
    refuse("queue.enqueue_many")


def depth(name: str) -> int:
    """Return how many messages wait: due or delayed, not those being handled. Counts what this execution sent."""
    refuse("queue.depth")


def depth_pending(name: str) -> int:
    """Return how many messages are due now and wait for a handler. Counts what this execution sent without delay."""
    refuse("queue.depth_pending")
