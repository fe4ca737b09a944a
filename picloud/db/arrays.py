"""Array literals, read by the server as in `%(ids)s::uuid[]`: psycopg takes ten times as long, element by element.

As every parameter is text, a statement has one type signature, and so is prepared once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Self
from uuid import UUID

from psycopg import DataError

from picloud.types import ExecutionId, MessageId, NewMessage

EMPTY = "{}"


def uuid_array(ids: Iterable[UUID | None]) -> str:
    """Return the literal of a uuid[]."""
    return "{" + ",".join(["null" if each is None else f"{each.int:032x}" for each in ids]) + "}"


def text_array(texts: Sequence[str]) -> str:
    """Return the literal of a text[]. Raises: psycopg.DataError for a NUL character."""
    if not texts:
        return EMPTY
    # NUL is the one character that no text of the server's holds
    joined = "\0".join(texts)
    if joined.count("\0") != len(texts) - 1:
        raise DataError("PostgreSQL text cannot contain NUL (0x00) characters")
    return '{"' + joined.replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","') + '"}'


def number_array(numbers: Iterable[float | None]) -> str:
    """Return the literal of an array of numbers."""
    return "{" + ",".join(["null" if each is None else repr(each) for each in numbers]) + "}"


class MessageColumns(NamedTuple):
    """Messages, column by column: one field for each of NewMessage's, in its order."""

    ids: Sequence[MessageId]
    queue_names: Sequence[str]
    payloads: Sequence[str]
    delays: Sequence[float]
    deliver_afters: Sequence[datetime | None]
    priorities: Sequence[int]
    max_attempts: Sequence[int | None]
    dedup_keys: Sequence[str | None]
    group_keys: Sequence[str | None]
    trigger_depths: Sequence[int]
    root_execution_ids: Sequence[ExecutionId | None]
    parent_execution_ids: Sequence[ExecutionId | None]
    request_ids: Sequence[str | None]

    @classmethod
    def of(cls, messages: Sequence[NewMessage]) -> Self:
        """Turn messages into columns."""
        return cls(*zip(*messages, strict=True)) if messages else cls(*([()] * len(cls._fields)))

    @property
    def are_alike(self) -> bool:
        """Whether messages differ in nothing but id and payload, and have no key and no time of their own."""
        if self.dedup_keys[0] is not None or self.group_keys[0] is not None or self.deliver_afters[0] is not None:
            return False
        return all(column.count(column[0]) == len(column) for at, column in enumerate(self) if at not in (0, 2))

    def literals(self) -> dict[str, str]:
        """Return the parameters of a statement that unnests all columns; one that holds nothing is empty: nulls."""
        return {
            "ids": uuid_array(self.ids),
            "queue_names": text_array(self.queue_names),
            "payloads": text_array(self.payloads),
            "delays": number_array(self.delays) if any(self.delays) else EMPTY,
            "deliver_afters": _nullable([None if each is None else each.isoformat() for each in self.deliver_afters]),
            "priorities": number_array(self.priorities) if any(self.priorities) else EMPTY,
            "max_attempts": number_array(self.max_attempts) if any(self.max_attempts) else EMPTY,
            "dedup_keys": _nullable(self.dedup_keys),
            "group_keys": _nullable(self.group_keys),
            "trigger_depths": number_array(self.trigger_depths) if any(self.trigger_depths) else EMPTY,
            "root_execution_ids": uuid_array(self.root_execution_ids),
            # where the root itself sent, there is none
            "parent_execution_ids": uuid_array(self.parent_execution_ids) if any(self.parent_execution_ids) else EMPTY,
            "request_ids": _nullable(self.request_ids),
        }


def _nullable(texts: Sequence[str | None]) -> str:
    """Return the literal of a text[] with nulls."""
    if texts.count(None) == len(texts):
        return EMPTY
    return "{" + ",".join(["null" if each is None else text_array([each])[1:-1] for each in texts]) + "}"
