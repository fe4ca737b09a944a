"""The schema as a whole, pinned; `BLESS=1` writes the snapshot anew, in the same change as a migration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from picloud.db.connection import Connection

EXPECTED = Path(__file__).with_name("expected_schema.txt")

COLUMNS = """
select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
       || case when a.attnotnull then ' not null' else '' end
       || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
 where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
 order by c.relname, a.attnum
"""
CONSTRAINTS = """
select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
  from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n' order by 1
"""
INDEXES = "select indexdef from pg_indexes where schemaname = 'public' order by indexname"
OPTIONS = """
select relname || ' with ' || array_to_string(reloptions, ', ')
  from pg_class where relnamespace = 'public'::regnamespace and reloptions is not null order by 1
"""


async def describe(conn: Connection) -> str:
    parts = []
    for title, query in (
        ("columns", COLUMNS),
        ("constraints", CONSTRAINTS),
        ("indexes", INDEXES),
        ("options", OPTIONS),
    ):
        cur = await conn.execute(query)  # type: ignore[arg-type]
        parts.append(f"# {title}\n" + "\n".join(row[0] for row in await cur.fetchall()))
    return "\n\n".join(parts) + "\n"


async def test_schema_is_as_blessed(conn: Connection) -> None:
    found = await describe(conn)
    if os.environ.get("BLESS") == "1":
        EXPECTED.write_text(found)
    assert found == EXPECTED.read_text(), "the schema changed: BLESS=1 writes the snapshot anew"


async def columns_of(conn: Connection, table: str) -> dict[str, str]:
    cur = await conn.execute(
        "select column_name, data_type from information_schema.columns where table_name = %s", (table,)
    )
    return dict(await cur.fetchall())


async def test_queue_messages_table_exists_with_expected_columns(conn: Connection) -> None:
    columns = await columns_of(conn, "queue_messages")
    assert columns == {
        "id": "uuid",
        "app_id": "uuid",
        "queue_name": "text",
        "payload": "jsonb",
        "priority": "smallint",
        "enqueued_at": "timestamp with time zone",
        "deliver_after": "timestamp with time zone",
        "attempt": "integer",
        "max_attempts": "integer",
        "claim_token": "uuid",
        "claimed_at": "timestamp with time zone",
        "dedup_key": "text",
        "group_key": "text",
        "trigger_depth": "integer",
        "root_execution_id": "uuid",
        "parent_execution_id": "uuid",
        "request_id": "text",
    }


async def test_queue_trigger_details_table_exists(conn: Connection) -> None:
    columns = await columns_of(conn, "queue_trigger_details")
    assert {"trigger_id", "queue_name", "visibility_timeout_secs", "last_fired_at"} <= set(columns)


async def test_queue_widens_trigger_kind_and_outbox_source_kind(conn: Connection) -> None:
    cur = await conn.execute(
        "select conname, pg_get_constraintdef(oid) from pg_constraint "
        "where conname in ('triggers_kind_known', 'outbox_source_kind_known')"
    )
    checks = dict(await cur.fetchall())
    for kind in ("http", "queue", "cron", "dead_letter", "email"):
        assert f"'{kind}'" in checks["triggers_kind_known"]
    for kind in ("invoke", "dead_letter", "cron", "email"):
        assert f"'{kind}'" in checks["outbox_source_kind_known"]


async def test_queue_messages_dispatch_index_is_partial(conn: Connection) -> None:
    cur = await conn.execute("select indexdef from pg_indexes where indexname = 'queue_messages_dispatch'")
    row = await cur.fetchone()
    assert row is not None
    assert "WHERE (claim_token IS NULL)" in row[0]


@pytest.mark.parametrize("table", ["queue_trigger_details", "outbox", "queue_messages"])
async def test_retry_columns_are_on_the_triggers_row_only(conn: Connection, table: str) -> None:
    retry = {"retry_max_attempts", "retry_backoff", "retry_base_ms"}
    assert retry <= set(await columns_of(conn, "triggers"))
    assert not retry & set(await columns_of(conn, table))
