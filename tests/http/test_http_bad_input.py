"""Whatever stands where a good value should, the answer is never a fault of ours."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from http_api import Api

from picloud.types import App

SHOP = "/api/v1/apps/shop"
GOOD: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/v1/apps", {"name": "store"}),
    ("POST", f"{SHOP}/scripts", {"name": "triage", "source": "a"}),
    ("PUT", f"{SHOP}/scripts/other", {"source": "b"}),
    ("POST", f"{SHOP}/scripts/other/rollback", {"version": 1}),
    ("POST", f"{SHOP}/triggers/queue", {"script": "other", "queue_name": "q", "batch_size": 5, "enabled": True}),
    (
        "POST",
        f"{SHOP}/triggers/cron",
        {
            "schedule": "0 2 * * *",
            "timezone": "Europe/Berlin",
            "script": "other",
            "payload": {"a": 1},
            "catch_up": "all",
        },
    ),
    (
        "POST",
        f"{SHOP}/triggers/cron",
        {"schedule": "@daily", "queue_name": "q", "catch_up": "all", "catch_up_limit": 5},
    ),
    ("POST", f"{SHOP}/triggers/email", {"name": "orders", "script": "other", "retry_backoff": "linear"}),
    ("POST", f"{SHOP}/queues/q/messages", {"payload": {"a": [1, None]}, "delay": 1, "priority": 3, "dedup_key": "k"}),
    ("POST", f"{SHOP}/queues/r/messages", {"messages": [{"payload": 1, "max_attempts": 2}, {"payload": [2]}]}),
    ("POST", f"{SHOP}/dead_letters/replay", {"queue_name": "q", "limit": 5}),
    (
        "POST",
        "/api/v1/apps/other/deploy",
        {
            "scripts": {"s": "a"},
            "triggers": {
                "queue": [{"queue": "q", "script": "s", "batch_size": 4}],
                "cron": [{"schedule": "@hourly", "queue": "q"}],
                "email": [{"name": "orders", "script": "s"}],
            },
        },
    ),
]
"""A good request for each route that takes a body."""

STRANGE: list[Any] = [
    None,
    True,
    -1,
    2**63,
    10**400,
    1e308,
    "",
    "\0",
    "\ud800",
    "../..",
    "x" * 300,
    "forbidden\nforbidden",
    [],
    [[]],
    {"\0": 1},
    {"\ud800": "a"},
    {"a/b~": {}},
]
"""What is put where each value of a good request stands, and text also where each key stands."""


def walk(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value within `value`."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from walk(value[key], (*path, key))


def vary(good: Any) -> Iterator[Any]:
    """Yield `good` with one value, or one key, made strange."""
    for path in walk(good):
        for strange in STRANGE:
            if not path:
                yield strange
                continue
            changed = copy.deepcopy(good)
            parent = changed
            for key in path[:-1]:
                parent = parent[key]
            value, parent[path[-1]] = parent[path[-1]], strange
            yield changed
            if isinstance(strange, str) and isinstance(parent, dict):
                del parent[path[-1]]
                parent[strange] = value
                yield changed


async def test_strange_values_anywhere_never_make_a_fault_of_ours(api: Api, shop: App) -> None:
    await api.put(f"{SHOP}/scripts/other", {"source": "a"})
    for method, path, good in GOOD:
        assert (await api.call(method, path, good)).status < 300, path
        for body in vary(good):
            answer = await api.call(method, path, data=json.dumps(body).encode())
            assert answer.status < 500, (method, path, body)
            if answer.status >= 400:
                assert answer.code, answer.body


async def test_what_strange_requests_left_behind_can_all_be_read(api: Api, shop: App) -> None:
    for body in vary({"payload": {"a": [1, "b"]}, "dedup_key": "k"}):
        await api.call("POST", f"{SHOP}/queues/q/messages", data=json.dumps(body).encode())
    for path in ("", "/queues", "/queues/q", "/queues/q/messages", "/dead_letters"):
        assert (await api.get(SHOP + path)).status == 200
