"""Apps, tokens, paging, and what every route has in common."""

from __future__ import annotations

import inspect
from datetime import datetime

import pytest
from http_api import Api, Surroundings

from picloud import errors
from picloud.errors import PicloudError
from picloud.http.problems import find_status
from picloud.types import App


async def test_app_lives_and_dies(api: Api, around: Surroundings) -> None:
    made = await api.post("/api/v1/apps", {"name": "shop"})
    assert made.status == 201
    assert made.body["name"] == "shop"
    assert datetime.fromisoformat(made.body["created_at"]).utcoffset().total_seconds() == 0  # type: ignore[union-attr]
    assert (await api.get("/api/v1/apps/shop")).body == made.body

    renamed = await api.patch("/api/v1/apps/shop", {"name": "store"})
    assert (renamed.status, renamed.body["name"], renamed.body["id"]) == (200, "store", made.body["id"])
    assert (await api.get("/api/v1/apps/shop")).code == "app_not_found"
    assert (await api.delete("/api/v1/apps/store")).status == 204
    assert (await api.get("/api/v1/apps/store")).status == 404
    assert around.changed == ["triggers", "triggers"]


async def test_two_apps_cannot_have_one_name(api: Api, shop: App) -> None:
    assert (await api.post("/api/v1/apps", {"name": "shop"})).code == "name_taken"
    assert (await api.post("/api/v1/apps", {"name": "store"})).status == 201
    taken = await api.patch("/api/v1/apps/store", {"name": "shop"})
    assert (taken.status, taken.code) == (409, "name_taken")


async def test_app_name_of_the_wrong_form_is_refused(api: Api) -> None:
    for name in ("Shop", "1shop", "", "a b", "x" * 64, "shop\n", "té"):
        refused = await api.post("/api/v1/apps", {"name": name})
        assert (refused.status, refused.code) == (422, "invalid_name"), name
        assert "lower-case letter" in refused.body["detail"]


async def test_apps_come_in_pages(api: Api) -> None:
    for name in ("c", "a", "e", "b", "d"):
        await api.post("/api/v1/apps", {"name": name})
    names, path = [], "/api/v1/apps?limit=2"
    while path:
        page = (await api.get(path)).body
        names.append([app["name"] for app in page["items"]])
        path = f"/api/v1/apps?limit=2&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert names == [["a", "b"], ["c", "d"], ["e"]]


async def test_bad_query_is_refused_with_the_parameter(api: Api) -> None:
    limits = ["limit=0", "limit=1001", "limit=ten", "limit="]
    cursors = ["cursor=%21%21", "cursor=", "cursor=AAA", "cursor=%FF", "cursor=A", "cursor=%00"]
    for query in [*limits, *cursors, "limti=3"]:
        refused = await api.get(f"/api/v1/apps?{query}")
        assert (refused.status, refused.code) == (422, "invalid_fields"), query
        assert [fault["parameter"] for fault in refused.body["errors"]] == [query.partition("=")[0]]


async def test_unknown_field_is_refused_with_the_one_that_was_meant(api: Api) -> None:
    refused = await api.post("/api/v1/apps", {"nmae": "shop"})
    assert refused.code == "invalid_fields"
    assert refused.pointers == ["/name", "/nmae"]
    assert "unknown field 'nmae' (did you mean 'name'?)" in str(refused.body["errors"])


async def test_body_must_be_an_object(api: Api) -> None:
    for body in ([], "text", 3, [{"name": "a"}], True):
        refused = await api.post("/api/v1/apps", body)
        assert (refused.status, refused.code) == (422, "invalid_fields"), body
        assert refused.body["detail"] == "must be a JSON object"


async def test_body_that_is_not_json_is_refused_with_the_place(api: Api) -> None:
    cases = {
        b"{": "line 1, column 2",
        b"": "line 1, column 1",
        b'{"name": NaN}': "NaN is not a JSON value",
        b'{"name": -Infinity}': "-Infinity is not a JSON value",
        b'{"name": "\xff"}': "not UTF-8",
        b'{"name": ' + b"9" * 5000 + b"}": "4300 digits",
    }
    for data, said in cases.items():
        refused = await api.call("POST", "/api/v1/apps", data=data)
        assert (refused.status, refused.code) == (400, "malformed_body"), data
        assert said in refused.body["detail"]


async def test_text_that_postgresql_cannot_store_is_refused(api: Api) -> None:
    for name in ("a\0b", "\ud800"):
        refused = await api.post("/api/v1/apps", {"name": name})
        assert (refused.status, refused.code, refused.pointers) == (422, "invalid_fields", ["/name"])


async def test_strange_field_names_do_not_break_the_answer(api: Api) -> None:
    for key in ("\ud800", "a\0", "x" * 100_000, "~/", ""):
        refused = await api.post("/api/v1/apps", {"name": "shop", key: 1})
        assert (refused.status, refused.code) == (422, "invalid_fields"), key[:10]


async def test_only_json_is_taken(api: Api) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    refused = await api.call("POST", "/api/v1/apps", data=b"name=shop", headers=form)
    assert (refused.status, refused.code) == (415, "unsupported_media_type")
    vendor = {"Content-Type": "application/vnd.shop+json; charset=utf-8"}
    assert (await api.call("POST", "/api/v1/apps", data=b'{"name": "shop"}', headers=vendor)).status == 201


async def test_body_over_the_limit_is_refused(api: Api) -> None:
    refused = await api.call("POST", "/api/v1/apps", data=b" " * (16 * 1024 * 1024 + 1))
    assert (refused.status, refused.code) == (413, "body_too_large")


async def test_request_without_a_known_token_is_refused(api: Api) -> None:
    for header in ("", "Bearer", "Bearer ", "Basic cGM6", "Bearer pc_unknown", "Bearer \xfc", "Bearer x"):
        response = await api.client.get("/api/v1/apps", headers={"Authorization": header})
        assert response.status_code == 401, header
    for path in ("/api/v1/apps", "/api/v1", "/api/v1/nothing/here"):
        response = await api.client.get(path)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"].startswith("Bearer")
        assert (await response.get_json(force=True))["code"] == "unauthorized"


async def test_scheme_of_the_token_has_any_case(api: Api) -> None:
    response = await api.client.get("/api/v1", headers={"Authorization": f"bearer {api.token}"})
    assert response.status_code == 200


async def test_deleted_token_stops_working(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await api.get("/api/v1")).status == 200
    async with api.node.pool.connection() as conn:
        await conn.execute("delete from tokens")
    monkeypatch.setattr("picloud.http.auth.FRESH_SECS", 0.0)
    assert (await api.get("/api/v1")).status == 401


async def test_known_token_survives_an_outage_and_an_unknown_one_does_not(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await api.get("/api/v1")).status == 200
    monkeypatch.setattr("picloud.http.auth.FRESH_SECS", 0.0)
    await api.node.pool.aclose()
    assert (await api.get("/api/v1")).status == 200
    api.token = "pc_other"
    unavailable = await api.get("/api/v1")
    assert (unavailable.status, unavailable.code) == (503, "database_unavailable")
    assert unavailable.headers["Retry-After"] == "2"


async def test_unknown_paths_and_methods_are_problems(api: Api) -> None:
    assert (await api.get("/api/v1/nothing")).code == "route_not_found"
    assert (await api.get("/elsewhere")).code == "route_not_found"
    assert (await api.get("/api/v1/apps/")).code == "route_not_found"
    wrong = await api.put("/api/v1/apps/shop", {})
    assert (wrong.status, wrong.code) == (405, "method_not_allowed")
    assert set(wrong.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "PATCH", "DELETE"}
    assert wrong.body["instance"] == "/api/v1/apps/shop"


async def test_unknown_app_is_not_found_whatever_its_name(api: Api) -> None:
    paths = ("", "/scripts", "/scripts/x", "/triggers", "/queues", "/queues/q", "/queues/q/messages", "/dead_letters")
    for name in ("no", "NO", "a b", "a\0b", "..", "%", "ü"):
        for path in paths:
            assert (await api.get(f"/api/v1/apps/{name}{path}")).status == 404, (name, path)


async def test_unknown_and_malformed_ids_are_alike(api: Api, shop: App) -> None:
    for some_id in ("0193a0c5-0000-7000-8000-000000000000", "1", "not-an-id", "a\0b", "{}"):
        for kind in ("triggers", "queues/q/messages", "dead_letters", "scripts", "queues"):
            missing = await api.get(f"/api/v1/apps/shop/{kind}/{some_id}")
            assert missing.status == 404, (kind, some_id)
            assert missing.code.endswith("not_found")


async def test_fault_of_ours_is_a_problem_without_internals(api: Api, shop: App) -> None:
    async with api.node.pool.connection() as conn:
        await conn.execute("alter table apps rename to secret_apps")
        try:
            broken = await api.get("/api/v1/apps")
        finally:
            await conn.execute("alter table secret_apps rename to apps")
    assert (broken.status, broken.code) == (500, "internal_error")
    assert "apps" not in broken.body["detail"]


async def test_outage_says_when_to_retry(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await api.get("/api/v1")).status == 200
    await api.node.pool.aclose()
    unavailable = await api.get("/api/v1/apps")
    assert (unavailable.status, unavailable.code) == (503, "database_unavailable")
    assert int(unavailable.headers["Retry-After"]) > 0


def test_every_error_class_has_a_status() -> None:
    classes = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, PicloudError)]
    statuses = {kind: find_status(kind) for kind in classes if kind is not PicloudError}
    assert statuses[errors.MessageNotFound] == 404
    assert statuses[errors.QueueHasConsumer] == 409
    assert statuses[errors.ScriptInvalid] == 422
    assert statuses[errors.DatabaseUnavailable] == 503
    assert all(400 <= status < 600 for status in statuses.values())
