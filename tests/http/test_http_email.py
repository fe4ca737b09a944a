"""Email triggers over HTTP."""

from __future__ import annotations

import pytest
from http_api import Api, Surroundings

from picloud.types import App

TRIGGERS = "/api/v1/apps/shop/triggers"


@pytest.fixture
async def scripts(api: Api, shop: App) -> None:
    """Two scripts."""
    for name in ("read", "other"):
        await api.put(f"/api/v1/apps/shop/scripts/{name}", {"source": "a = 1"})


async def test_a_trigger_is_made_shown_changed_listed_and_deleted(
    api: Api, scripts: None, around: Surroundings
) -> None:
    made = await api.post(f"{TRIGGERS}/email", {"name": "orders", "script": "read"})
    assert (made.status, around.changed[-1]) == (201, "triggers")
    body = made.body
    assert {name: body[name] for name in ("kind", "name", "address", "script", "enabled", "retry_max_attempts")} == {
        "kind": "email",
        "name": "orders",
        "address": "orders@shop",
        "script": "read",
        "enabled": True,
        "retry_max_attempts": 3,
    }
    path = f"{TRIGGERS}/{body['id']}"
    assert (await api.get(path)).body == body
    changed = await api.patch(path, {"script": "other", "enabled": False})
    assert changed.body == {**body, "script": "other", "enabled": False, "updated_at": changed.body["updated_at"]}
    assert (await api.get(f"{TRIGGERS}/email")).body == {"items": [changed.body], "next_cursor": None}
    assert (await api.delete(path)).status == 204
    assert (await api.get(path)).status == 404


async def test_what_cannot_work_is_refused_with_its_place(api: Api, scripts: None) -> None:
    await api.post(f"{TRIGGERS}/email", {"name": "orders", "script": "read"})
    taken = await api.post(f"{TRIGGERS}/email", {"name": "orders", "script": "other"})
    assert (taken.status, taken.code) == (409, "name_taken")
    assert "orders@shop is taken: trigger" in taken.body["detail"]
    wrong = await api.post(f"{TRIGGERS}/email", {"name": "Orders", "script": "read"})
    assert (wrong.status, wrong.code, wrong.body["errors"][0]["pointer"]) == (422, "invalid_name", "/name")
    gone = await api.post(f"{TRIGGERS}/email", {"name": "help", "script": "nobody"})
    assert (gone.status, gone.code) == (404, "script_not_found")
