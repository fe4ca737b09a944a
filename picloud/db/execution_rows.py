"""Rows of executions and their log lines, as PostgreSQL's binary COPY takes them: made once, held as bytes, sent as is.

Binary, since a row costs 1 µs this way; psycopg's own way of making it takes 10 (2 cores, 2026-12).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from picloud.db.connection import Connection
from picloud.db.sqlfile import load
from picloud.types import ExecutionStatus, Json, LogLevel

_sql = load("executions")

_START: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END: Final = b"\xff\xff"
_NULL: Final = b"\xff\xff\xff\xff"
_EPOCH_2000_US: Final = 946_684_800_000_000
_EXECUTION_FIELDS: Final = struct.pack(">h", 19)
_LOG_FIELDS: Final = struct.pack(">h", 8)

_int = struct.Struct(">i")
_own_part = struct.Struct(">i16si16siqididiiii")
"""Of an execution: id, message, start, duration, cpu, attempt, depth."""


class ExecutionFate(NamedTuple):
    """How an execution ended, and where it belongs. `error` is plain JSON data."""

    status: ExecutionStatus
    log_lines: int = 0
    root_execution_id: UUID | None = None
    """None: it is the root."""
    parent_execution_id: UUID | None = None
    request_id: str | None = None
    error: Json = None


class Chunk(NamedTuple):
    """Rows that are written together or not at all."""

    executions: bytes
    execution_count: int
    logs: bytes = b""
    log_count: int = 0

    @property
    def size_bytes(self) -> int:
        return len(self.executions) + len(self.logs)


class Amendment(NamedTuple):
    """How a recorded execution ended after all. `error` is plain JSON data; None leaves it."""

    app_id: UUID
    execution_id: UUID
    status: ExecutionStatus
    error: Json


def encode_head(
    app_id: UUID, script: str, version: int, source: str, trigger_id: UUID | None, queue_name: str | None
) -> bytes:
    """Return what the rows of one trigger's executions have in common: their beginning."""
    return b"".join(
        (
            _EXECUTION_FIELDS,
            _uuid(app_id),
            _text(script),
            _number(version),
            _text(source),
            _uuid(trigger_id),
            _text(queue_name),
        )
    )


def encode_own(
    execution_id: UUID, message_id: UUID, started_at: float, duration: float, cpu: float, attempt: int, depth: int
) -> bytes:
    """Return what each row has of its own, where it was about a message."""
    at_us = int(started_at * 1e6) - _EPOCH_2000_US
    return _own_part.pack(
        16, execution_id.bytes, 16, message_id.bytes, 8, at_us, 8, duration, 8, cpu, 4, attempt, 4, depth
    )


def encode_own_without_message(
    execution_id: UUID, started_at: float, duration: float, cpu: float, attempt: int, depth: int
) -> bytes:
    """Return the same for an execution that was about none."""
    row = encode_own(execution_id, execution_id, started_at, duration, cpu, attempt, depth)
    return row[:20] + _NULL + row[40:]


def encode_fate(fate: ExecutionFate) -> bytes:
    """Return the end of a row."""
    return b"".join(
        (
            _text(fate.status),
            _number(fate.log_lines),
            _uuid(fate.root_execution_id),
            _uuid(fate.parent_execution_id),
            _text(fate.request_id),
            _NULL if fate.error is None else _json(fate.error),
        )
    )


def encode_log(
    app_id: UUID, execution_id: UUID, seq: int, script: str, level: LogLevel, at: float, message: str, fields: Json
) -> bytes:
    """Return the row of one log line."""
    return b"".join(
        (
            _LOG_FIELDS,
            _uuid(app_id),
            _uuid(execution_id),
            _number(seq),
            _text(script),
            _text(level),
            struct.pack(">iq", 8, int(at * 1e6) - _EPOCH_2000_US),
            _text(message),
            _json(fields) if fields else _NULL,
        )
    )


async def write_chunks(conn: Connection, chunks: Sequence[Chunk]) -> None:
    """Insert rows. A crash of the server may lose the last moments of them, never half a chunk.

    Atomic: one transaction. Raises: psycopg.errors.UniqueViolation where they are there already.
    """
    async with conn.transaction():
        await conn.execute(_sql.commit_lazily)
        await _copy(conn, _sql.copy_executions, [chunk.executions for chunk in chunks])
        logs = [chunk.logs for chunk in chunks if chunk.logs]
        if logs:
            await _copy(conn, _sql.copy_execution_logs, logs)


async def amend_executions(conn: Connection, amendments: Sequence[Amendment]) -> None:
    """Correct rows that are there; followers of the log see them as written now."""
    values = {
        "app_ids": [one.app_id for one in amendments],
        "ids": [one.execution_id for one in amendments],
        "statuses": [one.status for one in amendments],
        "errors": [None if one.error is None else json.dumps(one.error) for one in amendments],
    }
    async with conn.transaction():
        await conn.execute(_sql.commit_lazily)
        await conn.execute(_sql.amend_executions, values)


async def _copy(conn: Connection, statement: str, pieces: Sequence[bytes]) -> None:
    async with conn.cursor() as cur, cur.copy(statement) as copy:
        await copy.write(b"".join((_START, *pieces, _END)))


def _uuid(value: UUID | None) -> bytes:
    return _NULL if value is None else b"\0\0\0\x10" + value.bytes


def _number(value: int) -> bytes:
    return b"\0\0\0\x04" + _int.pack(value)


def _text(value: str | None) -> bytes:
    if value is None:
        return _NULL
    data = value.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")
    return _int.pack(len(data)) + data


def _json(value: Json) -> bytes:
    """Return a jsonb field; what jsonb cannot hold becomes text, since one bad value must not cost its neighbours."""
    try:
        data = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        data = _as_text(value)
    if b"\\u0000" in data:
        data = _as_text(value)
    return _int.pack(len(data) + 1) + b"\x01" + data


def _as_text(value: Json) -> bytes:
    try:
        shown = ascii(value)
    except (ValueError, RecursionError):
        shown = "(a value that JSON cannot hold)"
    return json.dumps(shown).encode()


PLAIN_FATE: Final = encode_fate(ExecutionFate("ok"))
"""Of the executions that there are most of."""
