"""Messages and dead letters."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
import trio
from http_api import MAX_PAYLOAD_BYTES, Api, Surroundings
from uuid_utils.compat import uuid7

from picloud.db.messages import LowWater, Settlement, dead_letter_messages, insert_messages, pull_messages
from picloud.types import App, ClaimToken, MessageId, NewMessage

ORDERS = "/api/v1/apps/shop/queues/orders"
MESSAGES = f"{ORDERS}/messages"
LONG_AGO = "2020-01-01T00:00:00Z"
DEAD = "/api/v1/apps/shop/dead_letters"


async def count(api: Api) -> int:
    async with api.node.pool.connection() as conn:
        row = await (await conn.execute("select count(*)::int from queue_messages")).fetchone()
    assert row is not None
    return int(row[0])


async def claim(api: Api, app: App) -> tuple[ClaimToken, list[MessageId]]:
    token = ClaimToken(uuid7())
    async with api.node.pool.connection() as conn:
        pulled = await pull_messages(
            conn, app.id, "orders", settle=Settlement(token), claim_token=token, limit=100, low_water=LowWater()
        )
    return token, [message.id for message in pulled.messages]


async def bury(api: Api, app: App, *payloads: Any) -> list[str]:
    """Send messages and let them die; return the ids of their dead letters, oldest first."""
    await api.post(MESSAGES, {"messages": [{"payload": payload} for payload in payloads]})
    token, ids = await claim(api, app)
    error = json.dumps({"type": "ValueError", "message": "no", "line": 3, "source": "raise", "stack": []})
    async with api.node.pool.connection() as conn:
        await dead_letter_messages(conn, token, [(i, error) for i in ids], trigger_id=None, script_name="triage")
    return [dead["id"] for dead in reversed((await api.get(DEAD)).body["items"])]


async def test_message_is_stored_as_sent(api: Api, shop: App, around: Surroundings) -> None:
    sent = await api.post(
        MESSAGES, {"payload": {"a": [1, None]}, "delay": "1h30m", "priority": 9, "max_attempts": 7, "dedup_key": "k"}
    )
    assert (sent.status, sent.body["is_new"]) == (201, True)
    stored = (await api.get(f"{MESSAGES}/{sent.body['id']}")).body
    assert {name: value for name, value in stored.items() if not name.endswith("_at") and name != "deliver_after"} == {
        "id": sent.body["id"],
        "queue_name": "orders",
        "state": "delayed",
        "payload": {"a": [1, None]},
        "attempt": 0,
        "max_attempts": 7,
        "priority": 9,
        "dedup_key": "k",
    }
    assert stored["enqueued_at"].endswith("Z")
    assert around.sent == [(shop.id, ["orders"])]


@pytest.mark.parametrize(
    "payloads",
    [[None, True, 0, -1, "", [], {}, "ü\U0001f600", {"": {"": []}}, 2**53 + 1, -(10**40), 1.5, "x" * 100_000]],
)
async def test_payloads_come_back_exactly(api: Api, shop: App, payloads: list[Any]) -> None:
    for payload in payloads:
        sent = await api.post(MESSAGES, {"payload": payload})
        stored = (await api.get(f"{MESSAGES}/{sent.body['id']}")).body["payload"]
        assert stored == payload
        assert type(stored) is type(payload)


async def test_payload_that_cannot_be_carried_is_refused_and_nothing_stored(api: Api, shop: App) -> None:
    deep = b'{"payload": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    cases: list[tuple[bytes, int, str]] = [
        (b'{"payload": {"a": ["x\\u0000y"]}}', 422, "invalid_payload"),
        (b'{"payload": {"a\\u0000": 1}}', 422, "invalid_payload"),
        (b'{"payload": "\\ud800"}', 422, "invalid_payload"),
        (b'{"payload": {"\\udfff": 1}}', 422, "invalid_payload"),
        (b'{"payload": NaN}', 400, "malformed_body"),
        (b'{"payload": [Infinity]}', 400, "malformed_body"),
        (b'{"payload": 1e999}', 422, "invalid_payload"),
        (deep, 422, "invalid_payload"),
        (b'{"payload": ' + b"[" * 101 + b"]" * 101 + b"}", 422, "invalid_payload"),
        (b'{"payload": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", 422, "invalid_payload"),
        (b'{"payload": ' + b"9" * 5000 + b"}", 400, "malformed_body"),
        (b'{"payload": "' + b"x" * 2 * MAX_PAYLOAD_BYTES + b'"}', 413, "payload_too_large"),
        (b'{"payload": [' + b"0," * 5_000_000 + b"0]}", 413, "payload_too_large"),
        (b'{"payload": "\xff"}', 400, "malformed_body"),
        (b"{}", 422, "invalid_fields"),
    ]
    for data, status, code in cases:
        refused = await api.call("POST", MESSAGES, data=data)
        assert (refused.status, refused.code) == (status, code), data[:40]
        assert len(refused.body["detail"]) < 300
    assert await count(api) == 0
    assert (await api.get("/api/v1/apps/shop/queues")).body["items"] == []
    fault = (await api.call("POST", MESSAGES, data=cases[0][0])).body
    assert fault["errors"][0]["pointer"] == "/payload/a/0"


async def test_payload_may_be_as_large_and_as_deep_as_the_limits(api: Api, shop: App) -> None:
    largest = "ü" * (MAX_PAYLOAD_BYTES // 2 - 1)
    assert (await api.post(MESSAGES, {"payload": largest})).status == 201
    assert (await api.post(MESSAGES, {"payload": largest + "ü"})).status == 413
    deepest = b'{"payload": ' + b"[" * 100 + b"]" * 100 + b"}"
    assert (await api.call("POST", MESSAGES, data=deepest)).status == 201


async def test_message_fields_out_of_range_are_refused_with_the_place(api: Api, shop: App) -> None:
    bad: dict[str, list[Any]] = {
        "delay": [-1, "soon", 1e12, True, [], "1e400", 10**400, None],
        "priority": [-1, 10, "5", 1.5, True, None],
        "max_attempts": [0, 101, "3"],
        "dedup_key": ["", "x" * 256, "a\0", "\ud800", 5],
        "delya": [1],
    }
    for name, values in bad.items():
        for value in values:
            refused = await api.post(MESSAGES, {"payload": 1, name: value})
            assert (refused.status, refused.pointers) == (422, [f"/{name}"]), value
    assert (await api.post("/api/v1/apps/shop/queues/no name/messages", {"payload": 1})).code == "invalid_name"
    assert (await api.post("/api/v1/apps/no/queues/orders/messages", {"payload": 1})).code == "app_not_found"
    assert await count(api) == 0


async def test_taken_dedup_key_gives_the_earlier_message(api: Api, shop: App) -> None:
    first = await api.post(MESSAGES, {"payload": 1, "dedup_key": "k"})
    second = await api.post(MESSAGES, {"payload": 2, "dedup_key": "k"})
    assert (second.status, second.body) == (200, {"id": first.body["id"], "is_new": False})
    assert await count(api) == 1


async def test_batch_gives_a_result_per_message_in_order(api: Api, shop: App, around: Surroundings) -> None:
    earlier = (await api.post(MESSAGES, {"payload": 0, "dedup_key": "old"})).body["id"]
    batch = [
        {"payload": 1},
        {"payload": 2, "dedup_key": "old"},
        {"payload": 3, "dedup_key": "new"},
        {"payload": 4, "dedup_key": "new"},
        {"payload": 5},
    ]
    sent = await api.post(MESSAGES, {"messages": batch})
    assert (sent.status, sent.body["sent"], sent.body["duplicates"]) == (201, 3, 2)
    assert [item["is_new"] for item in sent.body["items"]] == [True, False, True, False, True]
    assert sent.body["items"][1]["id"] == earlier
    assert sent.body["items"][3]["id"] == sent.body["items"][2]["id"]
    stored = (await api.get(MESSAGES)).body["items"]
    assert [message["payload"] for message in stored] == [0, 1, 3, 5]
    assert around.sent[-1] == (shop.id, ["orders"] * 5)


async def test_bad_messages_refuse_the_whole_batch_and_are_all_named(api: Api, shop: App) -> None:
    batch = [
        {"payload": 1},
        {"payload": "a\0b"},
        {"payload": 3, "priority": 12},
        {"payload": {"deep": {"b/c": "\ud800"}}, "delay": "soon"},
        {},
        "text",
        {"payload": "x" * (MAX_PAYLOAD_BYTES + 1)},
        {"payload": 8},
    ]
    refused = await api.post(MESSAGES, {"messages": batch})
    assert (refused.status, refused.code) == (422, "invalid_fields")
    assert set(refused.pointers) == {
        "/messages/1/payload",
        "/messages/2/priority",
        "/messages/3/delay",
        "/messages/3/payload/deep/b~1c",
        "/messages/4/payload",
        "/messages/5",
        "/messages/6/payload",
    }
    assert await count(api) == 0


async def test_batch_has_limits(api: Api, shop: App) -> None:
    assert (await api.post(MESSAGES, {"messages": []})).pointers == ["/messages"]
    assert (await api.post(MESSAGES, {"messages": {}})).pointers == ["/messages"]
    assert (await api.post(MESSAGES, {"messages": [], "payload": 1})).status == 422
    too_many = await api.post(MESSAGES, {"messages": [{"payload": 0}] * 10_001})
    assert (too_many.status, too_many.pointers) == (422, ["/messages"])
    many_faults = await api.post(MESSAGES, {"messages": [{}] * 10_000})
    assert (many_faults.status, len(many_faults.body["errors"])) == (422, 100)
    assert "and 9999 more" in many_faults.body["detail"]
    assert await count(api) == 0
    assert (await api.post(MESSAGES, {"messages": [{"payload": 0}] * 10_000})).body["sent"] == 10_000


async def wait_for_blocked(api: Api, count: int) -> None:
    query = "select count(*)::int from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    async with api.node.pool.connection() as conn:
        with trio.fail_after(5):
            while (await (await conn.execute(query)).fetchone()) != (count,):
                await trio.sleep(0.02)


async def test_batches_with_the_same_keys_in_another_order_do_not_lock_each_other_out(api: Api, shop: App) -> None:
    answers: list[int] = []

    async def send(keys: str) -> None:
        batch = [{"payload": key, "dedup_key": key} for key in keys]
        answers.append((await api.post(MESSAGES, {"messages": batch})).status)

    pool = api.node.pool
    async with trio.open_nursery() as nursery, pool.connection() as conn, conn.transaction(force_rollback=True):
        # both have to wait for this one, with some of their keys taken
        await insert_messages(conn, shop.id, [NewMessage(MessageId(uuid7()), "orders", "1", dedup_key="m")])
        nursery.start_soon(send, "amz")
        nursery.start_soon(send, "zma")
        await wait_for_blocked(api, 2)
    assert answers == [201, 201]
    assert await count(api) == 3


async def test_messages_are_listed_by_state_in_pages(api: Api, shop: App) -> None:
    await api.post(MESSAGES, {"messages": [{"payload": at} for at in range(3)]})
    await claim(api, shop)
    await api.post(MESSAGES, {"messages": [{"payload": 3}, {"payload": 4, "delay": 60}, {"payload": 5}]})

    async def payloads(query: str) -> list[Any]:
        return [message["payload"] for message in (await api.get(f"{MESSAGES}?{query}")).body["items"]]

    assert await payloads("") == [0, 1, 2, 3, 4, 5]
    assert await payloads("state=claimed") == [0, 1, 2]
    assert await payloads("state=ready") == [3, 5]
    assert await payloads("state=delayed") == [4]
    assert (await api.get(f"{MESSAGES}?state=dead")).code == "invalid_fields"
    first = (await api.get(f"{MESSAGES}?limit=4")).body
    assert await payloads(f"limit=4&cursor={first['next_cursor']}") == [4, 5]


async def test_message_is_deleted_unless_it_is_being_handled(api: Api, shop: App) -> None:
    waiting = (await api.post(MESSAGES, {"payload": 1, "delay": 60})).body["id"]
    running = (await api.post(MESSAGES, {"payload": 2})).body["id"]
    await claim(api, shop)
    assert (await api.delete(f"/api/v1/apps/shop/queues/other/messages/{waiting}")).code == "message_not_found"
    assert (await api.delete(f"{MESSAGES}/{waiting}")).status == 204
    assert (await api.delete(f"{MESSAGES}/{waiting}")).code == "message_not_found"
    refused = await api.delete(f"{MESSAGES}/{running}")
    assert (refused.status, refused.code) == (409, "conflict")
    assert await count(api) == 1


async def test_send_to_an_app_deleted_behind_our_back_is_not_found(api: Api, shop: App) -> None:
    assert (await api.post(MESSAGES, {"payload": 1})).status == 201
    async with api.node.pool.connection() as conn:
        await conn.execute("delete from apps")
    assert (await api.post(MESSAGES, {"payload": 1})).code == "app_not_found"
    await api.post("/api/v1/apps", {"name": "shop"})
    assert (await api.post(MESSAGES, {"payload": 1})).status == 201


async def test_dead_letter_shows_what_the_handler_saw(api: Api, shop: App) -> None:
    (dead_id,) = await bury(api, shop, {"n": 1})
    dead = (await api.get(f"{DEAD}/{dead_id}")).body
    assert (dead["queue_name"], dead["script"], dead["reason"]) == ("orders", "triage", "attempts_exhausted")
    assert dead["event"]["payload"] == {"n": 1}
    assert (dead["error"]["type"], dead["error"]["line"]) == ("ValueError", 3)
    assert (await api.get(ORDERS)).body["dead"] == 1
    assert (await api.delete(f"{DEAD}/{dead_id}")).status == 204
    assert (await api.delete(f"{DEAD}/{dead_id}")).code == "dead_letter_not_found"
    assert (await api.get(ORDERS)).body["dead"] == 0


async def test_replay_puts_the_message_back_once_and_wakes_the_consumer(
    api: Api, shop: App, around: Surroundings
) -> None:
    (dead_id,) = await bury(api, shop, {"n": 1})
    around.sent.clear()
    replayed = await api.post(f"{DEAD}/{dead_id}/replay")
    assert (replayed.status, replayed.body["queue_name"]) == (200, "orders")
    message = (await api.get(f"{MESSAGES}/{replayed.body['message_id']}")).body
    assert (message["payload"], message["attempt"]) == ({"n": 1}, 0)
    assert around.sent == [(shop.id, ["orders"])]
    again = await api.post(f"{DEAD}/{dead_id}/replay")
    assert (again.status, again.code) == (409, "already_replayed")
    assert (await api.post(f"{DEAD}/{uuid4()}/replay")).code == "dead_letter_not_found"
    assert (await api.get(DEAD)).body["items"] == []
    resolved = (await api.get(f"{DEAD}?include_resolved=true")).body["items"]
    assert [(dead["id"], dead["resolution"]) for dead in resolved] == [(dead_id, "replayed")]


async def test_replay_of_many_takes_the_oldest_first(api: Api, shop: App) -> None:
    dead = await bury(api, shop, *range(5))
    first = await api.post(f"{DEAD}/replay", {"limit": 2, "queue_name": "orders"})
    assert [item["dead_letter_id"] for item in first.body["items"]] == dead[:2]
    nothing = (await api.post(f"{DEAD}/replay", {"queue_name": "other"})).body
    assert (nothing["items"], nothing["replayed"]) == ([], 0)
    assert (await api.post(f"{DEAD}/replay")).body["replayed"] == 3
    assert await count(api) == 5
    for body in (
        {"limit": 0},
        {"limit": 10_001},
        {"queue_name": "a\0"},
        {"queue": "orders"},
        {"per_second": 0},
        {"died_after": "yesterday"},
        {"died_before": "2026-12-01T08:00:00"},
        {"died_before": "0001-01-01T00:00:00+14:00"},
        {"reason": "bad luck"},
        {"delay": -1},
    ):
        assert (await api.post(f"{DEAD}/replay", body)).code == "invalid_fields"


async def test_replay_by_filter_into_another_queue_at_a_rate(api: Api, shop: App, around: Surroundings) -> None:
    await bury(api, shop, *range(4))
    wish = {"error_type": "ValueError", "script": "triage", "to_queue": "later", "per_second": 0.1, "limit": 3}
    for other in ({"error_type": "KeyError"}, {"script": "x"}, {"reason": "expired"}, {"died_before": LONG_AGO}):
        assert (await api.post(f"{DEAD}/replay", {**wish, **other})).body["replayed"] == 0
    around.sent.clear()
    answer = await api.post(f"{DEAD}/replay", {**wish, "died_after": LONG_AGO})
    assert [(item["queue_name"], item["due_in"]) for item in answer.body["items"]] == [
        ("later", 0.0), ("later", 10.0), ("later", 20.0)
    ]  # fmt: skip
    assert around.sent == [(shop.id, ["later"] * 3)]
    later = (await api.get("/api/v1/apps/shop/queues/later")).body
    assert (later["ready"], later["delayed"]) == (1, 2)
    # nothing dies again before `as_of`: the last one is older
    left = await api.post(f"{DEAD}/replay", {"died_before": answer.body["as_of"]})
    assert left.body["replayed"] == 1
    assert (await api.post(f"{DEAD}/replay", {"to_queue": "no/queue"})).code == "invalid_name"


async def test_who_resolved_a_dead_letter_how_and_when_is_kept(api: Api, shop: App) -> None:
    first, second = await bury(api, shop, 1, 2)
    discarded = await api.patch(f"{DEAD}/{first}", {"resolution": "discarded", "note": "a test order"})
    facts = {"resolution": "discarded", "resolved_by": "test", "resolution_note": "a test order"}
    assert discarded.status == 200
    assert {name: discarded.body[name] for name in facts} == facts
    assert discarded.body["resolved_at"] is not None
    for refused in (
        await api.patch(f"{DEAD}/{first}", {"resolution": "discarded"}),
        await api.post(f"{DEAD}/{first}/replay"),
    ):
        assert (refused.status, refused.code) == (409, "already_replayed")
        assert "by 'test'" in refused.body["detail"]
    reopened = (await api.patch(f"{DEAD}/{first}", {"resolution": None})).body
    assert [reopened[name] for name in (*facts, "resolved_at")] == [None] * 4
    assert (await api.patch(f"{DEAD}/{first}", {"resolution": None})).code == "conflict"
    await api.post(f"{DEAD}/{second}/replay", {"to_queue": "later", "delay": "1h"})
    replayed = (await api.get(f"{DEAD}/{second}")).body
    assert (replayed["resolution"], replayed["resolved_by"]) == ("replayed", "test")
    assert (await api.patch(f"{DEAD}/{second}", {"resolution": None})).code == "already_replayed"
    assert (await api.get("/api/v1/apps/shop/queues/later")).body["delayed"] == 1
    for body in ({}, {"resolution": "replayed"}, {"resolution": None, "note": "x"}):
        assert (await api.patch(f"{DEAD}/{first}", body)).code == "invalid_fields"
    assert (await api.patch(f"{DEAD}/{uuid4()}", {"resolution": None})).code == "dead_letter_not_found"


async def test_dead_letters_come_newest_first_in_pages(api: Api, shop: App) -> None:
    await bury(api, shop, 0, 1, 2)
    first = (await api.get(f"{DEAD}?limit=2&queue_name=orders")).body
    rest = (await api.get(f"{DEAD}?limit=2&queue_name=orders&cursor={first['next_cursor']}")).body
    assert [dead["event"]["payload"] for dead in first["items"] + rest["items"]] == [2, 1, 0]
    assert (await api.get(f"{DEAD}?queue_name=other")).body["items"] == []
