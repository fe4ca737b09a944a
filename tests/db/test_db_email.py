"""Email triggers, and mails in the outbox: one row per address, all or none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from outbox_probes import Outbox
from uuid_utils.compat import uuid7

from picloud.db.apps import delete_app, insert_app
from picloud.db.connection import Connection
from picloud.db.dead_letters import Replay, list_dead_letters, replay_dead_letter
from picloud.db.email_triggers import (
    EmailTrigger,
    Recipient,
    find_mailbox_trigger,
    get_email_trigger,
    insert_email_trigger,
    insert_mail,
    list_email_triggers,
    update_email_trigger,
)
from picloud.db.outbox import bury_deliveries
from picloud.db.scripts import put_script
from picloud.db.triggers import delete_trigger
from picloud.engine import EmailEvent, build_event
from picloud.errors import InvalidInput, InvalidName, NameTaken, ScriptNotFound, TriggerNotFound
from picloud.mail_event import encode_mail
from picloud.mail_parsing import parse_mail
from picloud.mail_spec import EmailTriggerSpec, Mailbox, find_mailbox
from picloud.types import TriggerId

EVENT = encode_mail(parse_mail("From: a@b\r\nSubject: ä\r\n\r\n😀".encode()), envelope_from="a@b", max_bytes=100_000)


async def new_trigger(conn: Connection, name: str = "orders", *, app_name: str = "shop") -> EmailTrigger:
    app = await insert_app(conn, app_name)
    await put_script(conn, app.id, "read", "def handle(event, ctx): pass")
    return await insert_email_trigger(conn, app.id, EmailTriggerSpec(name, "read", retry_max_attempts=2))


async def test_a_trigger_is_made_found_changed_and_listed(conn: Connection) -> None:
    trigger = await new_trigger(conn)
    assert trigger.address == "orders@shop"
    assert trigger.spec == EmailTriggerSpec("orders", "read", retry_max_attempts=2)
    assert await find_mailbox_trigger(conn, Mailbox("shop", "orders")) == trigger.id
    assert await find_mailbox_trigger(conn, Mailbox("shop", "order")) is None
    assert await find_mailbox_trigger(conn, Mailbox("other", "orders")) is None
    spec = replace(trigger.spec, name="sales", enabled=False)
    changed = await update_email_trigger(conn, trigger.app_id, trigger.id, spec)
    assert changed.spec == spec
    assert await find_mailbox_trigger(conn, Mailbox("shop", "sales")) is None
    assert await list_email_triggers(conn, trigger.app_id) == [changed]
    assert await list_email_triggers(conn, trigger.app_id, after=trigger.id) == []


async def test_an_address_belongs_to_one_trigger(conn: Connection) -> None:
    trigger = await new_trigger(conn)
    with pytest.raises(NameTaken, match=f"orders@shop is taken: trigger {trigger.id} runs script 'read'"):
        await insert_email_trigger(conn, trigger.app_id, EmailTriggerSpec("orders", "read"))
    other = await insert_email_trigger(conn, trigger.app_id, EmailTriggerSpec("sales", "read"))
    with pytest.raises(NameTaken, match="orders@shop is taken"):
        await update_email_trigger(conn, trigger.app_id, other.id, replace(other.spec, name="orders"))


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (EmailTriggerSpec("Orders", "read"), InvalidName),
        (EmailTriggerSpec("a..b", "read"), InvalidName),
        (EmailTriggerSpec("orders+x", "read"), InvalidName),
        (EmailTriggerSpec("a" * 65, "read"), InvalidName),
        (EmailTriggerSpec("a", "nobody"), ScriptNotFound),
        (EmailTriggerSpec("a", "read", retry_max_attempts=0), InvalidInput),
        (EmailTriggerSpec("a", "read", retry_backoff="linaer"), InvalidInput),  # type: ignore[arg-type]
    ],
)
async def test_a_wrong_trigger_is_refused(conn: Connection, spec: EmailTriggerSpec, error: type[Exception]) -> None:
    trigger = await new_trigger(conn)
    with pytest.raises(error):
        await insert_email_trigger(conn, trigger.app_id, spec)
    with pytest.raises(TriggerNotFound):
        await get_email_trigger(conn, trigger.app_id, TriggerId(uuid7()))


@pytest.mark.parametrize(
    ("address", "domain", "found"),
    [
        ("orders@shop", None, ("shop", "orders")),
        ("Orders+Tag+2@SHOP", None, ("shop", "orders")),
        ("orders@shop", "example.org", ("shop", "orders")),
        ("orders@shop.Example.org", "example.ORG", ("shop", "orders")),
        ("orders@shop.example.org", None, None),
        ("orders@example.org", "example.org", None),
        ("orders@shop.example.com", "example.org", None),
        ("orders@x.shop.example.org", "example.org", None),
        ("orders@evil.com@shop", None, None),
        ("orders%evil.com@shop", None, None),
        ('"orders"@shop', None, None),
        ("orders", None, None),
        ("@shop", None, None),
        ("+x@shop", None, None),
        ("orders@", None, None),
        ("orders@[127.0.0.1]", None, None),
        ("ördérs@shop", None, None),
        ("orders\udcff@shop", None, None),
        (f"orders+{'a' * 250}@shop", None, None),
    ],
)
def test_an_address_is_of_an_app_or_of_nobody(address: str, domain: str | None, found: tuple[str, str] | None) -> None:
    assert find_mailbox(address, domain) == found


async def test_a_mail_is_one_row_per_address(conn: Connection) -> None:
    first, second = await new_trigger(conn), await new_trigger(conn, "help", app_name="desk")
    recipients = [Recipient("orders+7@shop", first.id), Recipient("help@desk", second.id)]
    ids = await insert_mail(conn, EVENT, recipients)
    deliveries = (await Outbox(conn).pull()).deliveries
    assert {delivery.id for delivery in deliveries} == set(ids)
    for delivery, trigger in zip(sorted(deliveries, key=lambda one: ids.index(one.id)), (first, second), strict=True):
        assert (delivery.source_kind, delivery.script_name, delivery.app_id) == ("email", "read", trigger.app_id)
        assert (delivery.max_attempts, delivery.trigger_depth) == (2, 0)
        event = build_event(delivery.source_kind, delivery.event)
        assert isinstance(event, EmailEvent)
        assert (event.sender, event.subject, event.text) == ("a@b", "ä", "😀")
        assert event.recipient == recipients[ids.index(delivery.id)].address


@pytest.mark.parametrize("how", ["disabled", "deleted", "its app deleted"])
async def test_a_mail_is_stored_for_all_addresses_or_for_none(conn: Connection, how: str) -> None:
    first, second = await new_trigger(conn), await new_trigger(conn, "help", app_name="desk")
    if how == "disabled":
        await update_email_trigger(conn, second.app_id, second.id, replace(second.spec, enabled=False))
    elif how == "deleted":
        await delete_trigger(conn, second.app_id, second.id)
    else:
        await delete_app(conn, "desk")
    with pytest.raises(TriggerNotFound):
        await insert_mail(conn, EVENT, [Recipient("orders@shop", first.id), Recipient("help@desk", second.id)])
    assert await Outbox(conn).count() == 0


async def test_a_mail_that_was_given_up_is_a_dead_letter_and_can_be_replayed(conn: Connection) -> None:
    trigger = await new_trigger(conn)
    await insert_mail(conn, EVENT, [Recipient("orders@shop", trigger.id)])
    outbox = Outbox(conn)
    batch = await outbox.pull()
    (delivery,) = batch.deliveries
    await bury_deliveries(conn, batch.token, [(delivery.id, "{}")])
    (dead,) = await list_dead_letters(conn, trigger.app_id)
    assert (dead.source, dead.script_name, dead.event["subject"]) == ("email", "read", "ä")
    await replay_dead_letter(conn, trigger.app_id, dead.id, Replay("ann"))
    (again,) = (await outbox.pull()).deliveries
    assert (again.source_kind, again.max_attempts, again.event) == ("email", 2, delivery.event)
