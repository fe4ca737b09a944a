"""picloud.db.deployment: an app becomes what its manifest says, and nothing more is touched."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio
from uuid_utils.compat import uuid7

from picloud.cron_spec import CronTriggerSpec
from picloud.db.apps import delete_app, get_app
from picloud.db.connection import Connection, connect
from picloud.db.cron import insert_cron_trigger, list_cron_triggers
from picloud.db.dead_letter_triggers import insert_dead_letter_trigger, list_dead_letter_triggers
from picloud.db.deployment import DeploymentDiff, apply_deployment
from picloud.db.deployment_plan import DeploymentEntry, FieldChange
from picloud.db.email_triggers import list_email_triggers
from picloud.db.queue_rules import get_rules
from picloud.db.scripts import get_script, list_scripts
from picloud.db.triggers import QueueTriggerSettings, insert_queue_trigger, list_queue_triggers
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.errors import AppNotFound, InvalidInput, InvalidManifest, ScriptInUse
from picloud.mail_spec import EmailTriggerSpec
from picloud.manifest import Manifest, QueueTriggerSpec
from picloud.manifest_queues import QueueSpec
from picloud.types import QueueRules, QueueTrigger

HANDLER = "def handle(event, ctx):\n    return None\n"
OTHER = "def handle(event, ctx):\n    return 1\n"


def shop(scripts: dict[str, str], *triggers: QueueTriggerSpec) -> Manifest:
    return Manifest("shop", scripts, triggers)


def spec(queue: str, script: str, **settings: int | str | bool) -> QueueTriggerSpec:
    return QueueTriggerSpec(queue, script, settings)


async def triggers_of(conn: Connection) -> dict[str, QueueTrigger]:
    app = await get_app(conn, "shop")
    return {trigger.queue_name: trigger for trigger in await list_queue_triggers(conn, app_id=app.id)}


async def scripts_of(conn: Connection) -> dict[str, tuple[int, str]]:
    app = await get_app(conn, "shop")
    return {script.name: (script.version, script.source) for script in await list_scripts(conn, app.id)}


def actions(diff: DeploymentDiff) -> list[tuple[str, str, str]]:
    return [(entry.action, entry.kind, entry.name) for entry in diff.entries]


async def test_a_first_deployment_makes_app_scripts_and_triggers(conn: Connection) -> None:
    diff = await apply_deployment(conn, shop({"triage": HANDLER}, spec("orders", "triage", retry_max_attempts=2)))
    assert diff == DeploymentDiff(
        "shop",
        False,
        (
            DeploymentEntry("create", "app", "shop"),
            DeploymentEntry("create", "script", "triage"),
            DeploymentEntry(
                "create",
                "trigger",
                "orders",
                (FieldChange("script", None, "triage"), FieldChange("retry_max_attempts", None, 2)),
            ),
        ),
    )
    assert await scripts_of(conn) == {"triage": (1, HANDLER)}
    trigger = (await triggers_of(conn))["orders"]
    assert (trigger.script_name, trigger.retry_max_attempts) == ("triage", 2)
    assert trigger.visibility_timeout_secs == QueueTriggerSettings().visibility_timeout_secs


async def test_the_same_deployment_again_touches_nothing(conn: Connection) -> None:
    manifest = shop({"triage": HANDLER, "score": OTHER}, spec("orders", "triage"), spec("mail", "score", batch_size=7))
    await apply_deployment(conn, manifest)
    before = await triggers_of(conn), await scripts_of(conn)
    diff = await apply_deployment(conn, manifest)
    assert not diff.changed
    assert {entry.action for entry in diff.entries} == {"unchanged"}
    assert (await triggers_of(conn), await scripts_of(conn)) == before


async def test_a_changed_source_makes_the_next_version_of_that_script_only(conn: Connection) -> None:
    triggers = (spec("orders", "triage"),)
    await apply_deployment(conn, shop({"triage": HANDLER, "score": HANDLER}, *triggers))
    before = await triggers_of(conn)
    diff = await apply_deployment(conn, shop({"triage": OTHER, "score": HANDLER}, *triggers))
    changed = [entry for entry in diff.entries if entry.action != "unchanged"]
    assert changed == [DeploymentEntry("update", "script", "triage", (FieldChange("version", 1, 2),))]
    assert diff.has_changed("script")
    assert not diff.has_changed("trigger")
    assert await scripts_of(conn) == {"triage": (2, OTHER), "score": (1, HANDLER)}
    after = (await triggers_of(conn))["orders"]
    assert (after.id, after.updated_at) == (before["orders"].id, before["orders"].updated_at)


async def test_a_changed_trigger_keeps_its_id_and_names_the_changed_fields(conn: Connection) -> None:
    await apply_deployment(conn, shop({"a": HANDLER, "b": HANDLER}, spec("orders", "a", retry_max_attempts=5)))
    before = await triggers_of(conn)
    diff = await apply_deployment(conn, shop({"a": HANDLER, "b": HANDLER}, spec("orders", "b", enabled=False)))
    assert diff.entries[-1] == DeploymentEntry(
        "update",
        "trigger",
        "orders",
        (
            FieldChange("script", "a", "b"),
            FieldChange("enabled", True, False),
            # a setting that is no longer written has its default again
            FieldChange("retry_max_attempts", 5, 3),
        ),
    )
    trigger = (await triggers_of(conn))["orders"]
    assert (trigger.id, trigger.script_name, trigger.enabled, trigger.retry_max_attempts) == (
        before["orders"].id,
        "b",
        False,
        3,
    )


async def test_a_queue_moves_to_a_new_script_while_the_old_one_goes(conn: Connection) -> None:
    await apply_deployment(conn, shop({"old": HANDLER}, spec("orders", "old")))
    diff = await apply_deployment(conn, shop({"new": HANDLER}, spec("orders", "new")))
    assert actions(diff) == [
        ("unchanged", "app", "shop"),
        ("create", "script", "new"),
        ("update", "trigger", "orders"),
        ("delete", "script", "old"),
    ]
    assert (await triggers_of(conn))["orders"].script_name == "new"
    assert list(await scripts_of(conn)) == ["new"]


async def test_what_left_the_folder_is_deleted_and_messages_stay(conn: Connection) -> None:
    await apply_deployment(conn, shop({"triage": HANDLER, "score": HANDLER}, spec("orders", "triage")))
    app = await get_app(conn, "shop")
    await conn.execute(
        "insert into queue_messages (id, app_id, queue_name, payload) values (%s, %s, 'orders', '1')", (uuid7(), app.id)
    )
    diff = await apply_deployment(conn, shop({"score": HANDLER}))
    assert actions(diff) == [
        ("unchanged", "app", "shop"),
        ("unchanged", "script", "score"),
        ("delete", "trigger", "orders"),
        ("delete", "script", "triage"),
    ]
    assert await triggers_of(conn) == {}
    assert list(await scripts_of(conn)) == ["score"]
    rows = await (await conn.execute("select count(*) from queue_messages where queue_name = 'orders'")).fetchone()
    assert rows == (1,)


async def test_a_dry_run_tells_the_same_and_writes_nothing(conn: Connection) -> None:
    first = shop({"triage": HANDLER}, spec("orders", "triage"))
    dry = await apply_deployment(conn, first, dry_run=True)
    with pytest.raises(AppNotFound):
        await get_app(conn, "shop")
    assert dry.dry_run
    assert dry.entries == (await apply_deployment(conn, first)).entries

    second = shop({"triage": OTHER, "score": HANDLER}, spec("orders", "score"))
    before = await triggers_of(conn), await scripts_of(conn)
    dry = await apply_deployment(conn, second, dry_run=True)
    assert (await triggers_of(conn), await scripts_of(conn)) == before
    assert dry.entries == (await apply_deployment(conn, second)).entries


async def test_a_deployment_that_fails_half_way_changes_nothing(conn: Connection) -> None:
    await apply_deployment(conn, shop({"cron": HANDLER, "triage": HANDLER}))
    app = await get_app(conn, "shop")
    cron = await get_script(conn, app.id, "cron")
    await conn.execute(
        "insert into triggers (id, app_id, script_id, kind) values (%s, %s, %s, 'cron')", (uuid7(), app.id, cron.id)
    )
    with pytest.raises(ScriptInUse, match="a trigger runs script 'cron'"):
        await apply_deployment(conn, shop({"triage": OTHER}, spec("orders", "triage")))
    assert await scripts_of(conn) == {"cron": (1, HANDLER), "triage": (1, HANDLER)}
    assert await triggers_of(conn) == {}


async def test_a_manifest_that_contradicts_itself_is_refused_before_anything_is_written(conn: Connection) -> None:
    with pytest.raises(InvalidManifest, match=r"triggers\.queue\[1\]\.queue: queue 'orders' has a consumer already"):
        await apply_deployment(conn, shop({"a": HANDLER}, spec("orders", "a"), spec("orders", "a")))
    with pytest.raises(InvalidInput, match="no script 'b'"):
        await apply_deployment(conn, shop({"a": HANDLER}, spec("orders", "b")))
    with pytest.raises(AppNotFound):
        await get_app(conn, "shop")


async def test_a_trigger_made_over_the_api_is_taken_over_by_its_queue(conn: Connection) -> None:
    await apply_deployment(conn, shop({"a": HANDLER}))
    app = await get_app(conn, "shop")
    made = await insert_queue_trigger(conn, app.id, "a", "orders", QueueTriggerSettings(concurrency=2))
    diff = await apply_deployment(conn, shop({"a": HANDLER}, spec("orders", "a", concurrency=3)))
    assert diff.entries[-1].changes == (FieldChange("concurrency", 2, 3),)
    assert (await triggers_of(conn))["orders"].id == made.id


async def test_an_app_of_more_scripts_than_a_page_is_compared_whole(conn: Connection) -> None:
    manifest = shop({f"s{number}": HANDLER for number in range(120)})
    await apply_deployment(conn, manifest)
    assert not (await apply_deployment(conn, manifest)).changed


async def test_two_first_deployments_at_once_make_one_app_and_every_version_once(database: str) -> None:
    manifest = shop({"a": HANDLER, "b": OTHER}, spec("orders", "a"), spec("mail", "b"))
    diffs: list[DeploymentDiff] = []

    async def deploy() -> None:
        conn = await connect(database)
        try:
            diffs.append(await apply_deployment(conn, manifest))
        finally:
            await conn.close()

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(deploy)
    assert sorted(diff.changed for diff in diffs) == [False] * 7 + [True]
    conn = await connect(database)
    try:
        assert await scripts_of(conn) == {"a": (1, HANDLER), "b": (1, OTHER)}
        assert sorted(await triggers_of(conn)) == ["mail", "orders"]
        await delete_app(conn, "shop")
    finally:
        await conn.close()


async def test_messages_are_inserted_while_a_deployment_holds_the_app(database: str) -> None:
    deployer, sender = await connect(database), await connect(database)
    try:
        await apply_deployment(deployer, shop({"a": HANDLER}))
        app = await get_app(deployer, "shop")
        with trio.fail_after(10):
            async with deployer.transaction():
                await apply_deployment(deployer, shop({"a": OTHER}))
                await sender.execute(
                    "insert into queue_messages (id, app_id, queue_name, payload) values (%s, %s, 'q', '1')",
                    (uuid7(), app.id),
                )
    finally:
        await deployer.close()
        await sender.close()


async def test_schedules_are_made_changed_and_deleted_and_keep_what_is_due_otherwise(conn: Connection) -> None:
    def with_crons(*crons: CronTriggerSpec) -> Manifest:
        return Manifest("shop", {"triage": HANDLER}, cron_triggers=crons)

    nightly = CronTriggerSpec("0  2 * * *", "Europe/Berlin", script="triage", payload={"n": 1})
    hourly = CronTriggerSpec("@hourly", queue_name="jobs", catch_up="all")
    diff = await apply_deployment(conn, with_crons(nightly, hourly))
    assert actions(diff)[2:] == [
        ("create", "trigger", "0 2 * * * Europe/Berlin → triage"),
        ("create", "trigger", "@hourly UTC → queue jobs"),
    ]
    assert diff.entries[3].changes == (FieldChange("catch_up", None, "all"),)
    app = await get_app(conn, "shop")
    before = await list_cron_triggers(conn, app.id)
    assert not (await apply_deployment(conn, with_crons(nightly, hourly))).changed
    assert await list_cron_triggers(conn, app.id) == before

    # one that the API made alike goes, one that it made besides goes, too
    await insert_cron_trigger(conn, app.id, hourly)
    await insert_cron_trigger(conn, app.id, CronTriggerSpec("@daily", script="triage"))
    changed = replace(nightly, payload={"n": 2}, enabled=False)
    diff = await apply_deployment(conn, with_crons(changed, hourly))
    assert [action for action in actions(diff) if action[0] != "unchanged"] == [
        ("delete", "trigger", "@daily UTC → triage"),
        (
            "delete",
            "trigger",
            next(name for _, _, name in actions(diff) if name.startswith("@hourly UTC → queue jobs (")),
        ),
        ("update", "trigger", "0 2 * * * Europe/Berlin → triage"),
    ]
    first, second = await list_cron_triggers(conn, app.id)
    assert (first.id, first.payload, first.next_fire_at) == (before[0].id, {"n": 2}, None)
    assert second == before[1]
    await apply_deployment(conn, with_crons())
    assert await list_cron_triggers(conn, app.id) == []


async def test_dead_letter_triggers_are_made_changed_and_deleted(conn: Connection) -> None:
    def hears(*triggers: DeadLetterTriggerSpec) -> Manifest:
        return Manifest("shop", {"triage": HANDLER}, dead_letter_triggers=triggers)

    every = DeadLetterTriggerSpec("triage")
    some = DeadLetterTriggerSpec("triage", queue_name="jobs", retry_max_attempts=1)
    diff = await apply_deployment(conn, hears(every, some))
    assert actions(diff)[2:] == [
        ("create", "trigger", "dead letters of any source → triage"),
        ("create", "trigger", "dead letters of queue jobs → triage"),
    ]
    assert diff.entries[3].changes == (FieldChange("retry_max_attempts", None, 1),)
    app = await get_app(conn, "shop")
    before = await list_dead_letter_triggers(conn, app.id)
    assert [trigger.spec for trigger in before] == [every, some]
    assert not (await apply_deployment(conn, hears(every, some))).changed
    assert await list_dead_letter_triggers(conn, app.id) == before

    # what the API made alike, or besides, goes
    await insert_dead_letter_trigger(conn, app.id, every)
    await insert_dead_letter_trigger(conn, app.id, DeadLetterTriggerSpec("triage", source="cron"))
    changed = replace(some, enabled=False, retry_backoff="linear")
    diff = await apply_deployment(conn, hears(every, changed))
    assert [action for action, _, _ in actions(diff) if action != "unchanged"] == ["delete", "delete", "update"]
    assert [t.spec for t in await list_dead_letter_triggers(conn, app.id)] == [every, changed]
    await apply_deployment(conn, hears())
    assert await list_dead_letter_triggers(conn, app.id) == []


async def test_what_is_recorded_follows_the_manifest_and_stays_where_it_says_nothing(conn: Connection) -> None:
    await apply_deployment(conn, shop({"triage": HANDLER}))
    sampled = replace(shop({"triage": HANDLER}), record_executions="sampled", record_sample_rate=0.5)
    diff = await apply_deployment(conn, sampled)
    changes = (FieldChange("record_executions", "all", "sampled"), FieldChange("record_sample_rate", 0.01, 0.5))
    assert diff.entries[0] == DeploymentEntry("update", "app", "shop", changes)
    assert not (await apply_deployment(conn, sampled)).changed
    assert not (await apply_deployment(conn, shop({"triage": HANDLER}))).changed
    app = await get_app(conn, "shop")
    assert (app.record_executions, app.record_sample_rate) == ("sampled", 0.5)


async def test_queues_get_their_rules_and_those_left_out_keep_theirs(conn: Connection) -> None:
    wanted = QueueSpec("mail", {"fifo": True, "message_retention_secs": 60})
    manifest = replace(shop({"triage": HANDLER}), queues=(wanted,))
    first = await apply_deployment(conn, manifest)
    changes = (FieldChange("fifo", None, True), FieldChange("message_retention_secs", None, 60))
    assert DeploymentEntry("create", "queue", "mail", changes) in first.entries
    app = await get_app(conn, "shop")
    assert await get_rules(conn, app.id, "mail") == wanted.rules
    assert not (await apply_deployment(conn, manifest)).changed
    other = replace(manifest, queues=(QueueSpec("mail", {"max_in_flight": 2}),))
    diff = await apply_deployment(conn, other, dry_run=True)
    (entry,) = [entry for entry in diff.entries if entry.kind == "queue"]
    assert (entry.action, {change.field: (change.old, change.new) for change in entry.changes}) == (
        "update",
        {"fifo": (True, False), "message_retention_secs": (60, None), "max_in_flight": (None, 2)},
    )
    assert await get_rules(conn, app.id, "mail") == wanted.rules
    await apply_deployment(conn, other)
    assert await get_rules(conn, app.id, "mail") == QueueRules(max_in_flight=2)
    await apply_deployment(conn, shop({"triage": HANDLER}))
    assert await get_rules(conn, app.id, "mail") == QueueRules(max_in_flight=2)


async def test_addresses_are_made_changed_and_deleted(conn: Connection) -> None:
    def with_emails(*emails: EmailTriggerSpec) -> Manifest:
        return Manifest("shop", {"triage": HANDLER}, email_triggers=emails)

    orders, desk = EmailTriggerSpec("orders", "triage", retry_max_attempts=5), EmailTriggerSpec("help", "triage")
    diff = await apply_deployment(conn, with_emails(orders, desk))
    assert actions(diff)[2:] == [("create", "trigger", "orders@shop"), ("create", "trigger", "help@shop")]
    assert diff.entries[2].changes == (
        FieldChange("script", None, "triage"),
        FieldChange("retry_max_attempts", None, 5),
    )
    app = await get_app(conn, "shop")
    before = await list_email_triggers(conn, app.id)
    assert not (await apply_deployment(conn, with_emails(orders, desk))).changed
    assert await list_email_triggers(conn, app.id) == before
    diff = await apply_deployment(conn, with_emails(replace(orders, enabled=False)))
    assert [entry for entry in actions(diff) if entry[0] != "unchanged"] == [
        ("delete", "trigger", "help@shop"),
        ("update", "trigger", "orders@shop"),
    ]
    (left,) = await list_email_triggers(conn, app.id)
    assert (left.id, left.enabled, left.retry_max_attempts) == (before[0].id, False, 5)
