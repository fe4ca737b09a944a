"""Array literals arrive as what they were made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from queue_probes import message, new_queue
from uuid_utils.compat import uuid7

from picloud.db.arrays import MessageColumns, number_array, text_array, uuid_array
from picloud.db.connection import Connection
from picloud.db.messages import LowWater, Settlement, insert_messages, pull_messages
from picloud.types import ClaimToken, ExecutionId, MessageId, NewMessage

TEXTS = [
    "",
    "null",
    "NULL",
    '"',
    "\\",
    '\\"',
    "{",
    "}",
    ",",
    "a,b",
    "{a}",
    " ",
    "\n\t",
    "é",
    "😀",
    "'",
    "\x01",
    "x" * 9999,
]


@pytest.mark.parametrize("texts", [[], *([text] for text in TEXTS), TEXTS])
async def test_texts_arrive_as_they_are(conn: Connection, texts: list[str]) -> None:
    cur = await conn.execute("select %s::text[]", (text_array(texts),))
    assert await cur.fetchone() == (texts,)


async def test_text_with_nul_is_refused(conn: Connection) -> None:
    with pytest.raises(psycopg.DataError, match="NUL"):
        text_array(["a", "b\0c"])


async def test_ids_and_numbers_arrive_as_they_are(conn: Connection) -> None:
    ids: list[UUID | None] = [uuid4(), None, uuid7(), UUID(int=0), UUID(int=2**128 - 1)]
    numbers = [0.0, None, 0.1, 1e-9, 1e20, 86400.123456]
    cur = await conn.execute("select %s::uuid[], %s::float8[]", (uuid_array(ids), number_array(numbers)))
    assert await cur.fetchone() == (ids, numbers)


def test_columns_have_the_fields_of_a_message() -> None:
    values = NewMessage(MessageId(uuid7()), "q", "1")
    for name, column, field in zip(
        MessageColumns._fields, MessageColumns.of([values]), NewMessage._fields, strict=True
    ):
        assert name.startswith((field[:-1], field)) or field == "priority"
        assert list(column) == [getattr(values, field)]


async def test_message_of_every_option_arrives_as_it_was_sent_beside_one_without(conn: Connection) -> None:
    queue = await new_queue(conn)
    later = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    root = ExecutionId(uuid7())
    sent = [
        message(payload=1),
        message(
            payload=2,
            priority=7,
            max_attempts=9,
            trigger_depth=2,
            root_execution_id=root,
            dedup_key='a"\\',
            group_key="null",
            deliver_after=later,
        ),
        message(payload=3, delay=60.0),
    ]
    await insert_messages(conn, queue.app.id, sent)
    cur = await conn.execute(
        "select payload, priority, max_attempts, dedup_key, group_key, trigger_depth, root_execution_id, "
        "deliver_after - enqueued_at, deliver_after from queue_messages order by id"
    )
    plain, full, delayed = await cur.fetchall()
    assert plain[:8] == (1, 0, 3, None, None, 0, None, timedelta(0))
    assert (*full[:7], full[8]) == (2, 7, 9, 'a"\\', "null", 2, root, later)
    assert delayed[:8] == (3, 0, 3, None, None, 0, None, timedelta(seconds=60))


async def test_a_claim_alone_does_not_wait_for_the_disk_and_an_acknowledgement_does(conn: Connection) -> None:
    queue = await new_queue(conn)
    await queue.send(1)
    token = ClaimToken(uuid7())
    settlements: list[tuple[list[MessageId], str]] = [([], "off"), ([MessageId(uuid7())], "on")]
    for done, expected in settlements:
        async with conn.transaction():
            settle = Settlement(token, done)
            await pull_messages(
                conn, queue.app.id, "jobs", settle=settle, claim_token=token, limit=1, low_water=LowWater()
            )
            cur = await conn.execute("show synchronous_commit")
            assert await cur.fetchone() == (expected,)
    cur = await conn.execute("show synchronous_commit")
    assert await cur.fetchone() == ("on",)
