"""Triggers and queues."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
import trio
from http_api import Answer, Api, Surroundings
from uuid_utils.compat import uuid7

from picloud.db.messages import LowWater, Settlement, pull_messages
from picloud.types import App, ClaimToken

TRIGGERS = "/api/v1/apps/shop/triggers"
QUEUES = "/api/v1/apps/shop/queues"


@pytest.fixture
async def scripts(api: Api, shop: App) -> None:
    for name in ("triage", "other"):
        await api.put(f"/api/v1/apps/shop/scripts/{name}", {"source": "a = 1"})


async def bind(api: Api, queue: str = "orders", script: str = "triage", **settings: Any) -> Answer:
    return await api.post(f"{TRIGGERS}/queue", {"queue_name": queue, "script": script, **settings})


async def claim(api: Api, app: App, queue: str, count: int) -> ClaimToken:
    token = ClaimToken(uuid7())
    async with api.node.pool.connection() as conn:
        pulled = await pull_messages(
            conn, app.id, queue, settle=Settlement(token), claim_token=token, limit=count, low_water=LowWater()
        )
    assert len(pulled.messages) == count
    return token


async def test_trigger_has_the_defaults_and_what_was_set(api: Api, scripts: None, around: Surroundings) -> None:
    around.changed.clear()
    made = await bind(api, batch_size=7, retry_backoff="linear")
    assert made.status == 201
    assert {name: made.body[name] for name in made.body if not name.endswith(("_at", "id"))} == {
        "kind": "queue",
        "queue_name": "orders",
        "script": "triage",
        "enabled": True,
        "visibility_timeout_secs": 30,
        "retry_max_attempts": 3,
        "retry_backoff": "linear",
        "retry_base_ms": 1000,
        "batch_size": 7,
        "concurrency": 1,
    }
    assert (await api.get(f"{TRIGGERS}/{made.body['id']}")).body == made.body
    assert around.changed == ["triggers"]


async def test_queue_one_consumer_per_queue_rejected(api: Api, scripts: None) -> None:
    first = await bind(api)
    second = await bind(api, script="other")
    assert (second.status, second.code) == (409, "queue_has_consumer")
    assert first.body["id"] in second.body["detail"]
    assert "'triage'" in second.body["detail"]
    assert [t["script"] for t in (await api.get(TRIGGERS)).body["items"]] == ["triage"]


async def test_of_many_consumers_at_once_one_is_bound(api: Api, scripts: None) -> None:
    statuses: list[int] = []

    async def try_bind() -> None:
        statuses.append((await bind(api)).status)

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(try_bind)
    assert sorted(statuses) == [201] + [409] * 7


async def test_trigger_changes_only_what_is_given(api: Api, scripts: None, around: Surroundings) -> None:
    made = (await bind(api, batch_size=7)).body
    around.changed.clear()
    changed = await api.patch(f"{TRIGGERS}/{made['id']}", {"enabled": False, "script": "other"})
    assert changed.status == 200
    expected = {**made, "enabled": False, "script": "other", "updated_at": changed.body["updated_at"]}
    assert changed.body == expected
    assert changed.body["updated_at"] > made["updated_at"]
    assert around.changed == ["triggers"]
    assert (await api.patch(f"{TRIGGERS}/{made['id']}", {"script": "no"})).code == "script_not_found"
    assert (await api.patch(f"{TRIGGERS}/{uuid4()}", {"enabled": True})).code == "trigger_not_found"


async def test_changes_at_once_do_not_undo_each_other(api: Api, scripts: None) -> None:
    path = f"{TRIGGERS}/{(await bind(api)).body['id']}"
    wishes: dict[str, Any] = {"batch_size": 9, "concurrency": 5, "retry_base_ms": 77, "enabled": False}

    async with trio.open_nursery() as nursery:
        for name, value in wishes.items():
            nursery.start_soon(api.patch, path, {name: value})
    stored = (await api.get(path)).body
    assert {name: stored[name] for name in wishes} == wishes


async def test_settings_out_of_range_are_refused_with_the_place(api: Api, scripts: None) -> None:
    bad: dict[str, list[Any]] = {
        "visibility_timeout_secs": [0, 43_201, "30", 1.5, True, None],
        "retry_max_attempts": [0, 101],
        "retry_backoff": ["cubic", 3],
        "retry_base_ms": [0, 3_600_001],
        "batch_size": [0, 10_001],
        "concurrency": [0, 65],
        "enabled": ["yes", 1],
    }
    path = f"{TRIGGERS}/{(await bind(api, 'known')).body['id']}"
    for name, values in bad.items():
        for value in values:
            made, changed = await bind(api, **{name: value}), await api.patch(path, {name: value})
            assert (made.status, made.pointers) == (422, [f"/{name}"]), value
            assert (changed.status, changed.pointers) == (422, [f"/{name}"]), value
    assert (await bind(api, "no/name")).code == "invalid_name"
    assert (await bind(api, script="no")).code == "script_not_found"


async def test_trigger_is_deleted_and_its_queue_stays(api: Api, scripts: None) -> None:
    path = f"{TRIGGERS}/{(await bind(api)).body['id']}"
    assert (await api.delete(path)).status == 204
    assert (await api.delete(path)).code == "trigger_not_found"
    queue = (await api.get(f"{QUEUES}/orders")).body
    assert (queue["name"], queue["consumer"], queue["settings"], queue["actor"]) == ("orders", None, None, None)


async def test_trigger_of_another_app_is_not_found(api: Api, scripts: None) -> None:
    made = (await bind(api)).body
    await api.post("/api/v1/apps", {"name": "other"})
    for method in ("GET", "DELETE"):
        answer = await api.call(method, f"/api/v1/apps/other/triggers/{made['id']}")
        assert answer.code == "trigger_not_found"


async def test_triggers_come_in_pages(api: Api, scripts: None) -> None:
    for queue in "abc":
        await bind(api, queue)
    first = (await api.get(f"{TRIGGERS}?limit=2")).body
    rest = (await api.get(f"{TRIGGERS}?limit=2&cursor={first['next_cursor']}")).body
    assert [t["queue_name"] for t in first["items"] + rest["items"]] == ["a", "b", "c"]
    assert rest["next_cursor"] is None


async def test_queue_counts_are_disjoint_and_name_the_consumer(api: Api, scripts: None, shop: App) -> None:
    trigger = (await bind(api)).body
    ready: list[dict[str, Any]] = [{"payload": at} for at in range(5)]
    await api.post(f"{QUEUES}/orders/messages", {"messages": [*ready, {"payload": 6, "delay": "1h"}]})
    await api.post(f"{QUEUES}/idle/messages", {"payload": 1, "delay": 60})
    await claim(api, shop, "orders", 2)

    idle, orders = (await api.get(QUEUES)).body["items"]
    age = orders.pop("oldest_ready_age_secs")
    assert 0 <= age < 60
    assert orders == {
        "name": "orders",
        "ready": 3,
        "delayed": 1,
        "claimed": 2,
        "dead": 0,
        "paused_at": None,
        "consumer": {"trigger_id": trigger["id"], "script": "triage", "enabled": True},
    }
    assert (idle["name"], idle["delayed"], idle["consumer"], idle["oldest_ready_age_secs"]) == ("idle", 1, None, None)

    detail = (await api.get(f"{QUEUES}/orders")).body
    assert (detail["ready"], detail["delayed"], detail["claimed"]) == (3, 1, 2)
    assert detail["settings"] == trigger
    assert detail["actor"]["path"] == "/picloud/consumers/shop/orders"


async def test_queues_come_in_pages(api: Api, shop: App) -> None:
    for queue in ("b", "a", "c"):
        await api.post(f"{QUEUES}/{queue}/messages", {"payload": 1})
    first = (await api.get(f"{QUEUES}?limit=2")).body
    rest = (await api.get(f"{QUEUES}?limit=2&cursor={first['next_cursor']}")).body
    assert [queue["name"] for queue in first["items"] + rest["items"]] == ["a", "b", "c"]
