"""Single triggers: what every kind of them can do by its id."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args
from uuid import uuid4

import pytest
from http_api import Api, Surroundings

from picloud.types import App, TriggerKind

TRIGGERS = "/api/v1/apps/shop/triggers"


class Case(NamedTuple):
    """A trigger of one kind, a change of all that it runs for, and what is refused at creation and so at a change."""

    body: dict[str, Any]
    change: dict[str, Any]
    bad: list[tuple[dict[str, Any], int, str]]


RETRY = {"retry_max_attempts": 5, "retry_backoff": "linear", "retry_base_ms": 50}
CASES: dict[str, Case] = {
    "queue": Case(
        {"queue_name": "orders"},
        {"visibility_timeout_secs": 7, "batch_size": 3, "concurrency": 2, **RETRY},
        [
            ({"concurrency": 65}, 422, "invalid_fields"),
            ({"queue_name": "others"}, 422, "invalid_fields"),
        ],
    ),
    "http": Case(
        {"method": "POST", "path": "/orders"},
        {"method": "GET", "path": "/orders/:id", "auth": "token", "cors": {"origins": ["*"], "max_age": 5}},
        [
            ({"method": "FETCH"}, 422, "invalid_fields"),
            ({"path": "orders"}, 422, "invalid_input"),
            ({"auth": "signature"}, 422, "invalid_input"),
            ({"path": "/taken/:other", "method": "GET"}, 409, "route_taken"),
        ],
    ),
    "cron": Case(
        {"schedule": "0 2 * * *"},
        {"schedule": "@hourly", "timezone": "Europe/Berlin", "payload": [1], "catch_up": "skip", **RETRY},
        [
            ({"schedule": "0 25 * * *"}, 422, "invalid_input"),
            ({"timezone": "europe/berlin"}, 422, "invalid_input"),
        ],
    ),
    "email": Case(
        {"name": "orders"},
        {"name": "others", **RETRY},
        [
            ({"name": "Orders"}, 422, "invalid_name"),
            ({"name": "taken"}, 409, "name_taken"),
        ],
    ),
    "dead_letter": Case(
        {"source": "queue", "queue_name": "orders"},
        {"source": "cron", "queue_name": None, **RETRY},
        [
            ({"source": "mail"}, 422, "invalid_fields"),
            ({"source": "cron"}, 422, "invalid_input"),
            ({"queue_name": "a b"}, 422, "invalid_name"),
        ],
    ),
}
"""By kind."""


@pytest.fixture
async def scripts(api: Api, shop: App) -> None:
    """Two scripts, and what is taken."""
    for name in ("work", "other"):
        await api.put(f"/api/v1/apps/shop/scripts/{name}", {"source": "a = 1"})
    for kind, body in (("http", {"method": "GET", "path": "/taken/:id"}), ("email", {"name": "taken"})):
        assert (await api.post(f"{TRIGGERS}/{kind}", {"script": "other", **body})).status == 201


def test_there_is_a_case_for_each_kind() -> None:
    assert CASES.keys() == set(get_args(TriggerKind))


@pytest.mark.parametrize("kind", get_args(TriggerKind))
async def test_trigger_of_every_kind_is_shown_changed_refused_and_deleted_by_its_id(
    api: Api, scripts: None, around: Surroundings, kind: str
) -> None:
    case = CASES[kind]
    made = (await api.post(f"{TRIGGERS}/{kind}", {"script": "work", **case.body})).body
    path = f"{TRIGGERS}/{made['id']}"
    assert (made["kind"], (await api.get(path)).body) == (kind, made)

    around.changed.clear()
    switched = await api.patch(path, {"enabled": False})
    assert (switched.status, switched.body["enabled"], around.changed) == (200, False, ["triggers"])
    apart = {"enabled", "updated_at", "next_fire_at", "next_fires"}
    assert {name: value for name, value in switched.body.items() if name not in apart} == {
        name: value for name, value in made.items() if name not in apart
    }

    for wish, status, code in [
        *case.bad,
        ({"script": "none"}, 404, "script_not_found"),
        ({"enabled": 1}, 422, "invalid_fields"),
        ({"enabeld": True}, 422, "invalid_fields"),
    ]:
        refused = await api.patch(path, wish)
        assert (refused.status, refused.code) == (status, code), wish
    assert (await api.get(path)).body == switched.body

    changed = (await api.patch(path, {"script": "other", "enabled": True, **case.change})).body
    assert (changed["script"], changed["enabled"]) == ("other", True)
    assert {name: changed[name] for name in case.change} == case.change
    assert (await api.get(path)).body == changed

    assert (await api.delete(path)).status == 204
    for method, body in (("GET", None), ("PATCH", {"enabled": True}), ("DELETE", None)):
        assert (await api.call(method, path, body)).code == "trigger_not_found"


async def test_trigger_that_never_was_or_is_another_apps_is_not_found(api: Api, scripts: None) -> None:
    made = (await api.post(f"{TRIGGERS}/dead_letter", {"script": "work"})).body
    await api.post("/api/v1/apps", {"name": "till"})
    for path in (f"{TRIGGERS}/{uuid4()}", f"{TRIGGERS}/x", f"/api/v1/apps/till/triggers/{made['id']}"):
        for method, body in (("GET", None), ("PATCH", {"enabled": False}), ("DELETE", None)):
            assert (await api.call(method, path, body)).code == "trigger_not_found"
    assert (await api.get(f"{TRIGGERS}/{made['id']}")).body == made
