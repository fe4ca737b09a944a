"""Operating queues: pause, resume, purge, promote, requeue."""

from __future__ import annotations

from typing import Any

import pytest
from http_api import Api, Surroundings
from test_http_queues import QUEUES, claim

from picloud.types import App


async def send(api: Api, *messages: dict[str, Any], queue: str = "orders") -> list[str]:
    sent = await api.post(f"{QUEUES}/{queue}/messages", {"messages": list(messages)})
    assert sent.status in (200, 201, 207), sent.body
    return [one["id"] for one in sent.body["items"]]


async def counts(api: Api, queue: str = "orders") -> tuple[int, int, int, int]:
    shown = (await api.get(f"{QUEUES}/{queue}")).body
    return shown["ready"], shown["delayed"], shown["claimed"], shown["dead"]


async def test_paused_queue_gives_nothing_until_it_is_resumed(api: Api, shop: App, around: Surroundings) -> None:
    await send(api, {"payload": 1}, {"payload": 2})
    paused = await api.post(f"{QUEUES}/orders/pause", {})
    assert paused.status == 200
    assert paused.body["paused_at"] is not None
    await claim(api, shop, "orders", 0)
    # sending goes on, and a second pause keeps the time of the first
    await send(api, {"payload": 3})
    assert (await api.post(f"{QUEUES}/orders/pause", {})).body["paused_at"] == paused.body["paused_at"]
    around.woken.clear()
    resumed = await api.post(f"{QUEUES}/orders/resume", {})
    assert (resumed.body["paused_at"], around.woken) == (None, ["orders"])
    await claim(api, shop, "orders", 3)


@pytest.mark.parametrize(
    ("state", "purged", "left"),
    [("ready", 2, (0, 1, 1, 0)), ("delayed", 1, (2, 0, 1, 0)), ("all", 3, (0, 0, 1, 0)), ("dead", 0, (2, 1, 1, 0))],
)
async def test_purge_drops_what_nobody_holds(
    api: Api, shop: App, state: str, purged: int, left: tuple[int, int, int, int]
) -> None:
    await send(api, {"payload": 0})
    await claim(api, shop, "orders", 1)
    await send(api, {"payload": 1}, {"payload": 2}, {"payload": 3, "delay": 60})
    await send(api, {"payload": 4}, queue="other")
    done = await api.post(f"{QUEUES}/orders/purge", {"state": state})
    assert (done.status, done.body) == (200, {"purged": purged})
    assert await counts(api) == left
    assert await counts(api, "other") == (1, 0, 0, 0)


async def test_delayed_message_is_made_due(api: Api, shop: App, around: Surroundings) -> None:
    (delayed,) = await send(api, {"payload": 1, "delay": 3600})
    around.woken.clear()
    promoted = await api.post(f"{QUEUES}/orders/messages/{delayed}/promote", {})
    assert (promoted.status, promoted.body["state"], around.woken) == (200, "ready", ["orders"])
    again = await api.post(f"{QUEUES}/orders/messages/{delayed}/promote", {})
    assert (again.status, again.code) == (409, "conflict")


async def test_claimed_message_is_taken_back(api: Api, shop: App, around: Surroundings) -> None:
    (message,) = await send(api, {"payload": 1})
    refused = await api.post(f"{QUEUES}/orders/messages/{message}/requeue", {})
    assert (refused.status, refused.code) == (409, "conflict")
    await claim(api, shop, "orders", 1)
    taken = await api.post(f"{QUEUES}/orders/messages/{message}/requeue", {})
    assert (taken.status, taken.body["state"], taken.body["attempt"]) == (200, "ready", 1)
    await claim(api, shop, "orders", 1)


@pytest.mark.parametrize("what", ["pause", "resume", "purge"])
async def test_queue_that_is_not_there_is_not_found(api: Api, shop: App, what: str) -> None:
    answer = await api.post(f"{QUEUES}/none/{what}", {"state": "all"})
    assert (answer.status, answer.code) == (404, "queue_not_found")


async def test_purge_must_say_what(api: Api, shop: App) -> None:
    await send(api, {"payload": 1})
    answer = await api.post(f"{QUEUES}/orders/purge", {})
    assert (answer.status, answer.code) == (422, "invalid_fields")
    assert await counts(api) == (1, 0, 0, 0)


async def test_rules_of_a_queue_are_set_and_shown(api: Api, shop: App, around: Surroundings) -> None:
    await send(api, {"payload": 1}, {"payload": 2, "group_key": "a"})
    around.changed.clear()
    set_ = await api.patch(f"{QUEUES}/orders", {"fifo": True, "rate_per_second": 2.5})
    assert (set_.status, around.changed) == (200, ["triggers"])
    changed = await api.patch(f"{QUEUES}/orders", {"max_in_flight": 3})
    kept = {"default_max_attempts": None, "message_retention_secs": None, "dead_retention_secs": None}
    expected = {"fifo": True, "max_in_flight": 3, "rate_per_second": 2.5, **kept}
    assert changed.body == expected
    assert (await api.get(f"{QUEUES}/orders")).body["rules"] == expected
    taken_away = await api.patch(f"{QUEUES}/orders", {"rate_per_second": None})
    assert taken_away.body == {**expected, "rate_per_second": None}
    keeping = {"default_max_attempts": 9, "message_retention_secs": 3600, "dead_retention_secs": 86_400}
    assert (await api.patch(f"{QUEUES}/orders", keeping)).body == {**taken_away.body, **keeping}
    await claim(api, shop, "orders", 1)


@pytest.mark.parametrize(
    "rules",
    [
        {"max_in_flight": 0},
        {"rate_per_second": 0},
        {"fifo": "yes"},
        {"speed": 1},
        {"rate_per_second": "fast"},
        {"default_max_attempts": 101},
        {"message_retention_secs": 0},
        {"dead_retention_secs": 31_622_401},
        {"dead_retention_secs": "1d"},
    ],
)
async def test_rules_that_cannot_hold_are_refused(api: Api, shop: App, rules: dict[str, Any]) -> None:
    await send(api, {"payload": 1})
    answer = await api.patch(f"{QUEUES}/orders", rules)
    assert (answer.status, answer.code) == (422, "invalid_fields")
    assert (await api.patch(f"{QUEUES}/none", {"fifo": True})).code == "queue_not_found"
