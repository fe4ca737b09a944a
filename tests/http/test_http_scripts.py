"""Scripts, their versions, and whole deployments."""

from __future__ import annotations

from http_api import Api, Surroundings

from picloud.types import App

SCRIPTS = "/api/v1/apps/shop/scripts"
DEPLOY = "/api/v1/apps/shop/deploy"
THREE_FAULTS = "a = 1\nforbidden\nb = forbidden\n\n  forbidden"


async def test_script_lives_and_dies(api: Api, shop: App, around: Surroundings) -> None:
    made = await api.post(SCRIPTS, {"name": "triage", "source": "a = 1"})
    assert (made.status, made.body["version"], made.body["source"]) == (201, 1, "a = 1")
    assert (await api.get(f"{SCRIPTS}/triage")).body == made.body
    listed = (await api.get(SCRIPTS)).body["items"]
    assert [(script["name"], "source" in script) for script in listed] == [("triage", False)]
    assert (await api.delete(f"{SCRIPTS}/triage")).status == 204
    assert (await api.get(f"{SCRIPTS}/triage")).code == "script_not_found"
    assert (await api.delete(f"{SCRIPTS}/triage")).code == "script_not_found"
    assert around.changed == ["scripts", "scripts"]


async def test_put_makes_a_version_only_where_the_source_differs(api: Api, shop: App, around: Surroundings) -> None:
    answers = [await api.put(f"{SCRIPTS}/triage", {"source": source}) for source in ("a", "a", "b")]
    assert [(a.status, a.body["version"], a.body["changed"]) for a in answers] == [
        (201, 1, True),
        (200, 1, False),
        (200, 2, True),
    ]
    assert around.changed == ["scripts", "scripts"]
    assert (await api.post(SCRIPTS, {"name": "triage", "source": "c"})).code == "name_taken"


async def test_rollback_stores_the_old_source_as_a_new_version(api: Api, shop: App) -> None:
    for source in ("one", "two", "three"):
        await api.put(f"{SCRIPTS}/triage", {"source": source})
    back = await api.post(f"{SCRIPTS}/triage/rollback", {"version": 1})
    assert (back.status, back.body["version"], back.body["source"]) == (200, 4, "one")

    first = (await api.get(f"{SCRIPTS}/triage/versions?limit=3")).body
    rest = (await api.get(f"{SCRIPTS}/triage/versions?limit=3&cursor={first['next_cursor']}")).body
    assert [version["version"] for version in first["items"] + rest["items"]] == [4, 3, 2, 1]
    assert rest["next_cursor"] is None
    assert (await api.get(f"{SCRIPTS}/triage/versions?cursor=YWJj")).code == "invalid_fields"
    assert (await api.post(f"{SCRIPTS}/triage/rollback", {"version": 9})).code == "script_not_found"
    for version in (0, "1", 1.5, 2**31, None):
        assert (await api.post(f"{SCRIPTS}/triage/rollback", {"version": version})).code == "invalid_fields"


async def test_script_with_three_faults_lists_the_three_and_is_not_stored(api: Api, shop: App) -> None:
    for refused in (
        await api.put(f"{SCRIPTS}/triage", {"source": THREE_FAULTS}),
        await api.post(SCRIPTS, {"name": "triage", "source": THREE_FAULTS}),
    ):
        assert (refused.status, refused.code) == (422, "script_invalid")
        assert [(e["line"], e["column"], e["pointer"], e["detail"]) for e in refused.body["errors"]] == [
            (2, 1, "/source", "this is forbidden"),
            (3, 5, "/source", "this is forbidden"),
            (5, 3, "/source", "this is forbidden"),
        ]
    assert (await api.get(SCRIPTS)).body["items"] == []


async def test_bad_script_requests_are_refused(api: Api, shop: App) -> None:
    assert (await api.put(f"{SCRIPTS}/1triage", {"source": "a"})).code == "invalid_name"
    assert (await api.post(SCRIPTS, {"name": "a/b", "source": "a"})).code == "invalid_name"
    for source in ("a\0", "\ud800", 3, None):
        refused = await api.put(f"{SCRIPTS}/triage", {"source": source})
        assert (refused.status, refused.pointers) == (422, ["/source"])
    assert (await api.put("/api/v1/apps/no/scripts/triage", {"source": "a"})).code == "app_not_found"


async def test_script_that_a_trigger_runs_cannot_be_deleted(api: Api, shop: App) -> None:
    await api.put(f"{SCRIPTS}/triage", {"source": "a"})
    await api.post("/api/v1/apps/shop/triggers/queue", {"script": "triage", "queue_name": "orders"})
    refused = await api.delete(f"{SCRIPTS}/triage")
    assert (refused.status, refused.code) == (409, "script_in_use")


async def test_deployment_makes_the_app_and_is_idempotent(api: Api, around: Surroundings) -> None:
    wish = {"scripts": {"triage": "a = 1"}, "triggers": {"queue": [{"queue": "orders", "script": "triage"}]}}
    planned = await api.post(DEPLOY, {**wish, "dry_run": True})
    assert (planned.status, planned.body["changed"], planned.body["dry_run"]) == (200, True, True)
    assert (await api.get("/api/v1/apps/shop")).status == 404
    assert around.changed == []

    done = await api.post(DEPLOY, wish)
    assert [(e["action"], e["kind"], e["name"]) for e in done.body["entries"]] == [
        ("create", "app", "shop"),
        ("create", "script", "triage"),
        ("create", "trigger", "orders"),
    ]
    assert around.changed == ["scripts", "triggers"]
    again = await api.post(DEPLOY, wish)
    assert (again.body["changed"], around.changed) == (False, ["scripts", "triggers"])
    less = await api.post(DEPLOY, {"scripts": {}})
    assert {(e["action"], e["kind"]) for e in less.body["entries"]} >= {("delete", "script"), ("delete", "trigger")}


async def test_deployment_lists_the_faults_of_all_scripts(api: Api) -> None:
    bad = {"one": "forbidden", "two": "fine", "three": "\nforbidden\nforbidden"}
    refused = await api.post(DEPLOY, {"scripts": bad})
    assert (refused.status, refused.code) == (422, "script_invalid")
    assert [(e["pointer"], e["line"]) for e in refused.body["errors"]] == [
        ("/scripts/one", 1),
        ("/scripts/three", 2),
        ("/scripts/three", 3),
    ]
    alone = await api.post(DEPLOY, {"scripts": {"one": "forbidden"}})
    assert [(e["pointer"], e["line"]) for e in alone.body["errors"]] == [("/scripts/one", 1)]
    assert (await api.get("/api/v1/apps/shop")).status == 404


async def test_bad_deployments_are_refused_with_the_place(api: Api) -> None:
    async def refuse(wish: dict[str, object]) -> tuple[int, list[str | None]]:
        refused = await api.post(DEPLOY, wish)
        return refused.status, refused.pointers

    def trigger(**more: object) -> dict[str, object]:
        return {"scripts": {"a": "1"}, "triggers": {"queue": [{"queue": "q", "script": "a", **more}]}}

    assert await refuse({}) == (422, ["/scripts"])
    assert await refuse({"scripts": {"1": "a"}}) == (422, ["/scripts/1"])
    assert await refuse({"scripts": {"a": 1}}) == (422, ["/scripts/a"])
    assert await refuse(trigger(script="b")) == (422, ["/triggers/queue/0/script"])
    assert await refuse(trigger(batch_size=0)) == (422, ["/triggers/queue/0/batch_size"])
    assert await refuse(trigger(bacth_size=5)) == (422, ["/triggers/queue/0/bacth_size"])
    assert "did you mean 'batch_size'" in (await api.post(DEPLOY, trigger(bacth_size=5))).body["detail"]
    assert (await api.post("/api/v1/apps/Shop/deploy", {"scripts": {}})).code == "invalid_name"
