"""examples/webhook-to-queue: its handlers, without a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from picloud.testing import App, http_event

FOLDER = Path(__file__).parents[2] / "examples" / "webhook-to-queue"
LINES = [json.loads(line) for line in (FOLDER / "deliveries.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def app(picloud_app: Callable[[Path], App]) -> App:
    return picloud_app(FOLDER)


def receive(app: App, number: int, **request: Any) -> Any:
    event = LINES[number]["event"]
    headers = {"X-GitHub-Event": event, "X-GitHub-Delivery": f"d{number}", **request.pop("headers", {})}
    request.setdefault("json", LINES[number]["payload"])
    return app.run("receive", http_event("POST", "/github", headers=headers, **request))


def test_the_route_takes_only_what_is_signed(app: App) -> None:
    github, totals = app.manifest.http_triggers
    assert github.rules.to_json() == {
        "auth": "signature", "signature": "github", "secrets": ["github", "github-next"],
    }  # fmt: skip
    assert totals.rules.to_json() == {"auth": "token"}


def test_deliveries_are_queued_and_counted_once(app: App) -> None:
    for number in range(len(LINES)):
        receive(app, number)
    assert len(app.queues["deliveries"]) == len(LINES) - 1, "a ping is answered, not queued"
    app.deliver("deliveries")
    receive(app, 1)
    app.deliver("deliveries")
    totals = app.run("totals", http_event("GET", "/totals")).value
    kinds = [line["event"] for line in LINES if line["event"] != "ping"]
    assert totals == {kind: kinds.count(kind) for kind in sorted(kinds)}


def test_both_content_types_of_a_webhook_are_read(app: App) -> None:
    form = {"headers": {"Content-Type": "application/x-www-form-urlencoded"}}
    done = receive(app, 1, json={"payload": json.dumps(LINES[1]["payload"])}, **form)
    assert done.response.status == 202
    (message,) = done.sent("deliveries")
    assert (message["event"], message["repository"]) == ("issues", "acme/rocket")


def test_what_is_no_delivery_is_refused(app: App) -> None:
    done = app.run("receive", http_event("POST", "/github", json={}))
    assert (done.response.status, done.sent("deliveries")) == (400, [])
