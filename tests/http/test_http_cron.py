"""Cron triggers over HTTP: what is saved shows when it fires; what cannot work is refused with the place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from http_api import Answer, Api, Surroundings

from picloud.db.pool import Pool
from picloud.types import App

TRIGGERS = "/api/v1/apps/shop/triggers"


@pytest.fixture
async def scripts(api: Api, shop: App) -> None:
    """Two scripts."""
    for name in ("report", "other"):
        await api.put(f"/api/v1/apps/shop/scripts/{name}", {"source": "a = 1"})


async def save(api: Api, **body: Any) -> Answer:
    return await api.post(f"{TRIGGERS}/cron", {"schedule": "0 2 * * *", **body})


async def test_saved_trigger_shows_its_next_five_times(api: Api, scripts: None, around: Surroundings) -> None:
    made = await save(api, script="report", timezone="Europe/Berlin", payload={"top": 10})
    assert (made.status, around.changed[-1]) == (201, "triggers")
    body = made.body
    assert (body["kind"], body["script"], body["queue_name"], body["payload"]) == ("cron", "report", None, {"top": 10})
    assert (body["catch_up"], body["catch_up_limit"], body["retry_max_attempts"]) == ("one", 100, 3)
    moments = [datetime.fromisoformat(moment) for moment in body["next_fires"]]
    assert len(moments) == 5
    assert moments == sorted(moments)
    assert moments[0] > datetime.now(UTC)
    assert {moment.hour for moment in moments} <= {0, 1}
    assert body["next_fires"][0] == body["next_fire_at"]
    assert (await api.get(f"{TRIGGERS}/{body['id']}")).body == body
    del body["next_fires"]
    assert (await api.get(f"{TRIGGERS}/cron")).body == {"items": [body], "next_cursor": None}


async def test_trigger_changes_only_what_is_given_and_a_queue_takes_the_place_of_a_script(
    api: Api, scripts: None, around: Surroundings
) -> None:
    made = (await save(api, script="report")).body
    path = f"{TRIGGERS}/{made['id']}"
    around.changed.clear()
    changed = await api.patch(path, {"payload": [1]})
    assert (changed.status, around.changed) == (200, ["triggers"])
    assert changed.body == {**made, "payload": [1], "updated_at": changed.body["updated_at"]}
    changed = await api.patch(path, {"queue_name": "jobs", "schedule": "@hourly"})
    assert [changed.body[name] for name in ("script", "queue_name", "schedule")] == [None, "jobs", "@hourly"]
    assert changed.body["next_fires"] != made["next_fires"]
    changed = await api.patch(path, {"script": "other"})
    assert [changed.body[name] for name in ("script", "queue_name", "schedule")] == ["other", None, "@hourly"]
    changed = await api.patch(path, {"enabled": False})
    assert (changed.body["next_fire_at"], changed.body["next_fires"]) == (None, [])
    assert (await api.delete(path)).status == 204
    assert (await api.get(path)).code == "trigger_not_found"


async def test_bad_target_schedule_zone_and_payload_are_refused_at_save_with_the_place(
    api: Api, scripts: None, pool: Pool
) -> None:
    bad: list[tuple[dict[str, Any], int, str, list[str]]] = [
        ({"schedule": "0 25 * * *"}, 422, "invalid_input", ["/schedule"]),
        ({"schedule": ""}, 422, "invalid_input", ["/schedule"]),
        ({"schedule": "0 0 30 2 *"}, 422, "invalid_input", ["/schedule"]),
        ({"timezone": "europe/berlin"}, 422, "invalid_input", ["/timezone"]),
        ({"script": "none"}, 404, "script_not_found", []),
        ({"queue_name": "a b", "script": None}, 422, "invalid_name", ["/queue_name"]),
        ({"payload": {"a": ["\0"]}}, 422, "invalid_payload", ["/payload/a/0"]),
        ({"payload": "x" * 2**20}, 413, "payload_too_large", ["/payload"]),
        ({"catch_up": "some"}, 422, "invalid_fields", ["/catch_up"]),
        ({"catch_up_limit": 1001}, 422, "invalid_fields", ["/catch_up_limit"]),
        ({"time_zone": "UTC"}, 422, "invalid_fields", ["/time_zone"]),
    ]
    known = f"{TRIGGERS}/{(await save(api, script='report')).body['id']}"
    for wrong, status, code, pointers in bad:
        body = {"script": "report", **wrong}
        for answer in (await save(api, **body), await api.patch(known, wrong)):
            assert (answer.status, answer.code) == (status, code), wrong
            assert answer.body.get("errors") is None if not pointers else answer.pointers == pointers, wrong
    for neither_nor_both in ({}, {"script": "report", "queue_name": "jobs"}):
        assert (await save(api, **neither_nor_both)).pointers == ["/script"]
    assert (await api.patch(known, {"script": None})).pointers == ["/script"]
    assert len((await api.get(f"{TRIGGERS}/cron")).body["items"]) == 1


async def test_list_comes_in_pages(api: Api, scripts: None) -> None:
    made = [(await save(api, script="report", payload=number)).body["id"] for number in range(3)]
    page = (await api.get(f"{TRIGGERS}/cron?limit=2")).body
    rest = (await api.get(f"{TRIGGERS}/cron?limit=2&cursor={page['next_cursor']}")).body
    assert [item["id"] for item in page["items"] + rest["items"]] == made
    assert rest["next_cursor"] is None


async def test_deployment_names_the_place_of_a_bad_schedule(api: Api) -> None:
    wish = {"scripts": {"report": "a = 1"}, "triggers": {"cron": [{"schedule": "@hourly", "script": "report"}]}}
    done = await api.post("/api/v1/apps/shop/deploy", wish)
    assert done.body["entries"][-1]["name"] == "@hourly UTC → report"
    wish["triggers"]["cron"].append({"schedule": "@hourl", "queue": "jobs"})  # type: ignore[index]
    refused = await api.post("/api/v1/apps/shop/deploy", wish)
    assert (refused.code, refused.pointers) == ("invalid_manifest", ["/triggers/cron/1/schedule"])
