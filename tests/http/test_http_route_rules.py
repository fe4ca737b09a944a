"""Who may call a route: tokens, signatures, and pages of other origins; and how the API sets these rules."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from typing import Any

import pytest
from http_api import Api
from route_site import ECHO, RouteSite, open_route_site

from picloud.types import App

TRIGGERS = "/api/v1/apps/shop/triggers/http"
BODY = b'{"action": "opened"}'
ORIGIN = "https://shop.example.com"
CORS = {"origins": [ORIGIN], "headers": ["content-type", "x-cart"], "credentials": True, "max_age": 60}
SCRIPTS = {
    "echo": ECHO,
    "receive": "def handle(event, ctx):\n    queue.enqueue('in', event.body)\n    return 'taken'\n",
    "own": "def handle(event, ctx):\n    return Response('mine', headers={'Access-Control-Allow-Origin': '*'})\n",
}
ROUTES: list[dict[str, Any]] = [
    {"script": "receive", "path": "/github", "auth": "signature", "signature": "github", "secrets": ["new", "old"]},
    {
        "script": "receive",
        "path": "/other",
        "auth": "signature",
        "signature": {"header": "X-Sign", "algorithm": "sha1", "encoding": "base64", "prefix": "v1 "},
        "secrets": ["key"],
    },
    {"script": "echo", "path": "/members", "auth": "token"},
    {"script": "echo", "path": "/partner", "auth": "token", "secrets": ["partner"]},
    {"script": "echo", "path": "/cart", "cors": CORS},
    {"script": "own", "method": "PUT", "path": "/cart", "cors": {"origins": ["*"]}},
    {"script": "own", "path": "/own", "cors": CORS},
    {"script": "own", "method": "OPTIONS", "path": "/own"},
    {"script": "echo", "path": "/closed", "cors": CORS, "auth": "token"},
]


@pytest.fixture
async def site(api: Api, database: str) -> AsyncIterator[RouteSite]:
    async with open_route_site(api, database) as opened:
        await opened.deploy(SCRIPTS, *ROUTES)
        yield opened


def sign(key: str, body: bytes = BODY) -> dict[str, str]:
    """As GitHub does."""
    digest = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}", "Content-Type": "application/json"}


async def test_only_deliveries_signed_with_a_secret_of_the_route_are_taken(site: RouteSite) -> None:
    await site.set_secret("old", "s3cret")
    taken = await site.call("POST", "/github", content=BODY, headers=sign("s3cret"))
    assert (taken.status_code, taken.text) == (200, "taken")
    await site.set_secret("new", "n3w")
    for key in ("s3cret", "n3w"):
        assert (await site.call("POST", "/github", content=BODY, headers=sign(key))).status_code == 200, key
    good = sign("s3cret")["X-Hub-Signature-256"]
    refused: list[tuple[bytes, str | None]] = [
        (BODY, None),
        (BODY, ""),
        (BODY, good.removeprefix("sha256=")),
        (BODY, good[:-2]),
        (BODY, good[:-1] + ("0" if good[-1] != "0" else "1")),
        (BODY, "sha256=" + "g" * 64),
        (BODY, "sha256="),
        (BODY + b" ", good),
        (BODY, sign("wrong")["X-Hub-Signature-256"]),
    ]
    for body, signature in refused:
        headers = {} if signature is None else {"X-Hub-Signature-256": signature}
        answer = await site.call("POST", "/github", content=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "signature_invalid"), signature
        assert "X-Hub-Signature-256" in answer.json()["detail"]
    assert await site.count_messages("in") == 3


async def test_the_raw_body_is_what_was_signed(site: RouteSite) -> None:
    await site.set_secret("old", "s3cret")
    body = b"payload=%7B%7D&x=%ff"
    headers = {**sign("s3cret", body), "Content-Type": "text/plain"}
    assert (await site.call("POST", "/github", content=body, headers=headers)).status_code == 200
    # what cannot be decoded is said only to who may send it
    broken = await site.call("POST", "/github", content=b"{", headers=sign("wrong", b"{"))
    assert broken.status_code == 401
    broken = await site.call("POST", "/github", content=b"{", headers=sign("s3cret", b"{"))
    assert (broken.status_code, broken.json()["code"]) == (422, "invalid_payload")


async def test_another_form_of_signature(site: RouteSite) -> None:
    await site.set_secret("key", "k")
    digest = base64.b64encode(hmac.new(b"k", BODY, hashlib.sha1).digest()).decode()
    for value, status in ((f"v1 {digest}", 200), (digest, 401), (f"v1 {digest}!", 401), ("v1 é", 401)):
        answer = await site.call("POST", "/other", content=BODY, headers={"X-Sign": value.encode()})
        assert answer.status_code == status, value


async def test_a_secret_that_is_not_set_loses_nothing_and_is_warned_about(site: RouteSite) -> None:
    warnings = await site.deploy(SCRIPTS, *ROUTES)
    assert [warning.split("'")[1] for warning in warnings] == ["key", "new", "old", "partner"]
    answer = await site.call("POST", "/github", content=BODY, headers=sign("s3cret"))
    assert (answer.status_code, answer.json()["code"]) == (503, "route_secret_missing")
    assert "retry-after" in answer.headers
    assert "picloud secrets set" in answer.json()["detail"]
    assert await site.count_messages("in") == 0
    await site.set_secret("new", "s3cret")
    assert (await site.call("POST", "/github", content=BODY, headers=sign("s3cret"))).status_code == 200
    await site.api.delete("/api/v1/apps/shop/secrets/new")
    assert (await site.call("POST", "/github", content=BODY, headers=sign("s3cret"))).status_code == 503


async def test_tokens(site: RouteSite) -> None:
    await site.set_secret("partner", "p4rtner")
    for path, good in (("/members", site.api.token), ("/partner", "p4rtner")):
        given = await site.call("POST", path, headers={"Authorization": f"Bearer {good}"})
        assert given.status_code == 200
        assert given.json()["principal"] == ("test" if path == "/members" else None)
        for value in (None, "", "Bearer", f"Basic {good}", f"Bearer {good}x", "Bearer pc_", "Bearer é"):
            headers = {} if value is None else {"Authorization": value.encode()}
            answer = await site.call("POST", path, headers=headers)  # type: ignore[arg-type]
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), value
            assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (
        await site.call("POST", "/partner", headers={"Authorization": f"Bearer {site.api.token}"})
    ).status_code == 401


def preflight(origin: str, method: str) -> dict[str, str]:
    return {"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": "x-cart"}


async def test_preflights_are_answered_by_the_rules_of_the_route(site: RouteSite) -> None:
    allowed = await site.call("OPTIONS", "/cart", headers=preflight(ORIGIN, "POST"))
    assert (allowed.status_code, allowed.content) == (204, b"")
    got = {name: value for name, value in allowed.headers.items() if name.startswith("access-control-")}
    assert got == {
        "access-control-allow-origin": ORIGIN,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "content-type, x-cart",
        "access-control-allow-credentials": "true",
        "access-control-max-age": "60",
    }
    assert allowed.headers["vary"] == "Origin"
    for_all = await site.call("OPTIONS", "/cart", headers=preflight("https://evil.example", "PUT"))
    assert for_all.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in for_all.headers
    refused = await site.call("OPTIONS", "/cart", headers=preflight("https://evil.example", "POST"))
    assert (refused.status_code, refused.json()["code"]) == (403, "cors_refused")
    assert "access-control-allow-origin" not in refused.headers
    assert (await site.call("OPTIONS", "/cart", headers=preflight(ORIGIN, "DELETE"))).status_code == 405
    # a route without rules, and an app that answers for itself
    assert (
        "access-control-allow-origin"
        not in (await site.call("OPTIONS", "/members", headers=preflight(ORIGIN, "POST"))).headers
    )
    own = await site.call("OPTIONS", "/own", headers=preflight("https://evil.example", "POST"))
    assert (own.text, own.headers["access-control-allow-origin"]) == ("mine", "*")


async def test_pages_may_read_answers_and_refusals_alike(site: RouteSite) -> None:
    for path, status in (("/cart", 200), ("/own", 200), ("/closed", 401)):
        read = await site.call("POST", path, headers={"Origin": ORIGIN})
        assert read.status_code == status
        assert read.headers.get_list("access-control-allow-origin") == [ORIGIN]
        assert read.headers["access-control-allow-credentials"] == "true"
        assert read.headers["vary"] == "Origin"
        other = await site.call("POST", path, headers={"Origin": "https://evil.example"})
        assert (other.status_code, other.headers.get("access-control-allow-origin")) == (status, None)


async def test_the_api_makes_shows_and_changes_rules(api: Api, shop: App) -> None:
    await api.put("/api/v1/apps/shop/scripts/echo", {"source": "def handle(event, ctx): pass"})
    rules = {"auth": "signature", "signature": "github", "secrets": ["key"], "cors": {"origins": ["*"]}}
    made = await api.post(TRIGGERS, {"script": "echo", "path": "/in", **rules})
    assert made.status == 201
    assert {name: made.body[name] for name in rules} == rules
    (warning,) = made.body["warnings"]
    assert "picloud secrets set shop key" in warning
    url = f"{TRIGGERS}/{made.body['id']}"
    await api.put("/api/v1/apps/shop/secrets/key", {"value": "x"})
    assert (await api.get(url)).body["warnings"] == []

    changed = await api.patch(url, {"cors": None, "enabled": False})
    assert (changed.status, changed.body["cors"], changed.body["enabled"]) == (200, None, False)
    assert changed.body["signature"] == "github"
    open_ = await api.patch(url, {"auth": "none", "signature": None, "secrets": []})
    assert (open_.body["auth"], open_.body["signature"], open_.body["enabled"]) == ("none", None, False)
    half = await api.patch(url, {"auth": "signature"})
    assert half.status == 422
    assert "needs `signature`" in half.body["detail"]
    assert (await api.get(url)).body["auth"] == "none"
    assert (await api.patch(f"{TRIGGERS}/{made.body['id'][:-1]}x", {})).status == 404


@pytest.mark.parametrize(
    ("rules", "pointer", "text"),
    [
        ({"auth": "tokn"}, "/auth", "'none', 'token' or 'signature'"),
        ({"auth": "signature"}, "", "needs `signature`"),
        ({"auth": "signature", "signature": "gitub", "secrets": ["k"]}, "/signature", "did you mean 'github'?"),
        ({"auth": "signature", "signature": {"header": "a b"}, "secrets": ["k"]}, "/signature/header", "no HTTP"),
        ({"signature": "github"}, "", "needs auth = 'signature'"),
        ({"secrets": ["k"]}, "", "needs auth = 'token'"),
        ({"auth": "token", "secrets": ["a b"]}, "/secrets", "invalid name"),
        ({"cors": {"origins": ["*"], "credentials": True}}, "/cors", "cannot go with '*'"),
        ({"cors": {"origins": [ORIGIN], "headers": ["*"], "credentials": True}}, "/cors", "cannot go with '*'"),
        ({"cors": {"origins": []}}, "/cors/origins", "at least 1 item"),
        ({"cors": {"origins": [f"{ORIGIN}/"]}}, "/cors/origins", "is no origin"),
        ({"cors": {"origins": [ORIGIN], "maxage": 1}}, "/cors/maxage", "did you mean 'max_age'?"),
        ({"cors": {"origins": [ORIGIN], "headers": ["a\r\nb"]}}, "/cors/headers", "no HTTP"),
    ],
)
async def test_rules_that_cannot_work_are_refused_when_they_are_saved(
    api: Api, shop: App, rules: dict[str, Any], pointer: str, text: str
) -> None:
    await api.put("/api/v1/apps/shop/scripts/echo", {"source": "def handle(event, ctx): pass"})
    route = {"script": "echo", "path": "/in", **rules}
    refused = await api.post(TRIGGERS, route)
    assert (refused.status, refused.code) == (422, "invalid_fields")
    assert refused.pointers == [pointer]
    assert text.replace("no HTTP", "that HTTP can carry") in refused.body["detail"]
    deployed = await api.post(
        "/api/v1/apps/shop/deploy", {"scripts": {"echo": "x = 1"}, "triggers": {"http": [route]}, "dry_run": True}
    )
    assert deployed.status == 422
    assert deployed.pointers == [f"/triggers/http/0{pointer}"]


async def test_one_path_has_a_route_for_each_method(site: RouteSite) -> None:
    routes = [{"script": "echo", "method": method, "path": "/same"} for method in ("GET", "POST", "PUT")]
    await site.deploy({**SCRIPTS, "echo": "def handle(event, ctx):\n    return event.method\n"}, *routes)
    assert [(await site.call(method, "/same")).text for method in ("GET", "POST", "PUT")] == ["GET", "POST", "PUT"]
    await site.deploy({**SCRIPTS, "echo": "def handle(event, ctx):\n    return event.method\n"}, *routes[1:])
    assert (await site.call("GET", "/same")).status_code == 405
    assert (await site.call("PUT", "/same")).text == "PUT"


async def test_a_target_that_cannot_work_is_refused_when_it_is_saved(api: Api, shop: App) -> None:
    await api.put("/api/v1/apps/shop/scripts/echo", {"source": "def handle(event, ctx): pass"})
    made = await api.post(TRIGGERS, {"script": "echo", "path": "/orders/:id"})
    assert made.status == 201
    taken = await api.post(TRIGGERS, {"script": "echo", "path": "/orders/:key"})
    assert (taken.status, taken.code) == (409, "route_taken")
    for route, status, code in (
        ({"script": "none", "path": "/in"}, 404, "script_not_found"),
        ({"script": "echo", "path": "in"}, 422, "invalid_input"),
        ({"script": "echo", "path": "/a//b"}, 422, "invalid_input"),
        ({"script": "echo", "path": "/in", "method": "FETCH"}, 422, "invalid_fields"),
    ):
        refused = await api.post(TRIGGERS, route)
        assert (refused.status, refused.code) == (status, code), route
    changed = await api.patch(f"{TRIGGERS}/{made.body['id']}", {"script": "none"})
    assert (changed.status, changed.code) == (404, "script_not_found")
    assert [one["path"] for one in (await api.get(TRIGGERS)).body["items"]] == ["/orders/:id"]
