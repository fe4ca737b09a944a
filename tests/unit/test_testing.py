"""`picloud.testing`: what a handler's author writes in plain pytest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

import pytest

from picloud.engine.http_client import HttpRequest
from picloud.sdk.http import HttpResponse
from picloud.testing import (
    App,
    HandlerFailed,
    cron_event,
    dead_letter_event,
    http_event,
    invoke_event,
    queue_event,
)

Load = Callable[[Path], App]

SHOP = {
    "picloud.toml": """
        [app]
        name = "shop"

        [[triggers.queue]]
        queue = "orders"
        script = "order"

        [[triggers.http]]
        path = "/orders/:id"
        script = "web"

        [[triggers.cron]]
        schedule = "0 2 * * *"
        timezone = "Europe/Berlin"
        script = "nightly"
        payload = { top = 3 }

        [[triggers.cron]]
        schedule = "@hourly"
        queue = "orders"
        payload = { sku = "refill", to = "us" }
        """,
    "order.py": """
        def handle(event, ctx):
            if event.payload["sku"] == "bad":
                queue.enqueue("emails", "never")
                raise ValueError("no such sku")
            price = invoke("price", {"sku": event.payload["sku"]})
            queue.enqueue("emails", {"to": event.payload["to"], "total": price})
            kv.increment("sold")
            invoke_async("later", event.payload["sku"])
            log.info("priced", attempt=event.attempt)
            return {"ok": True}
        """,
    "nightly.py": """
        def handle(event, ctx):
            return [str(event.scheduled_for), event.payload["top"]]
        """,
    "price.py": """
        def handle(event, ctx):
            return 42 * kv.get("rate", 1)
        """,
    "later.py": """
        def handle(event, ctx):
            return event.get("body")
        """,
    "web.py": """
        def handle(event, ctx):
            if event.source == "http" and event.body:
                answer = http.request("POST", "https://api.example.com/x", json=event.body,
                                      headers={"Authorization": secrets.get("key")})
                return Response(answer.json(), status=answer.status)
            return [event.source, event.get("params"), event.get("scheduled_for"), event.get("attempts")]
        """,
}


@pytest.fixture
def shop(tmp_path: Path, picloud_app: Load) -> App:
    for name, text in SHOP.items():
        (tmp_path / name).write_text(dedent(text))
    return picloud_app(tmp_path)


def test_handler_runs_and_its_effects_are_seen(shop: App) -> None:
    shop.kv["rate"] = 2
    done = shop.run("order", {"sku": "a", "to": "me"})
    assert done.value == {"ok": True}
    assert done.sent("emails") == [{"to": "me", "total": 84}]
    assert done.invocations == (("later", "a"),)
    assert [(line.message, line.fields) for line in done.logs] == [("priced", {"attempt": 1})]
    assert (shop.queues["emails"], shop.kv, shop.later) == (
        [{"to": "me", "total": 84}],
        {"rate": 2, "sold": 1},
        [("later", "a")],
    )


def test_failure_is_raised_with_the_authors_line_and_leaves_nothing(shop: App) -> None:
    with pytest.raises(HandlerFailed, match=r"ValueError: no such sku \(line 5\)"):
        shop.run("order", {"sku": "bad"})
    done = shop.run("order", {"sku": "bad"}, check=False)
    assert done.error is not None
    assert (done.error.type, done.messages, shop.queues["emails"]) == ("ValueError", (), [])


def test_queue_is_delivered_to_its_script_and_failures_stay(shop: App) -> None:
    shop.queues["orders"] += [{"sku": "a", "to": "x"}, {"sku": "bad"}, {"sku": "b", "to": "y"}]
    done = shop.deliver("orders", check=False)
    assert [one.error is None for one in done] == [True, False, True]
    assert shop.queues["orders"] == [{"sku": "bad"}]
    assert shop.kv == {"sold": 2}
    with pytest.raises(LookupError, match="no trigger for queue 'emails'"):
        shop.deliver("emails")


def test_every_kind_of_event_can_be_made(shop: App) -> None:
    when = datetime(2026, 12, 1, 12, tzinfo=UTC)
    assert shop.run("web", http_event("POST", "/x", params={"id": "7"})).value[:2] == ["http", {"id": "7"}]
    assert shop.run("web", cron_event(when)).value[2] == "2026-12-01T12:00:00+00:00"
    assert shop.run("web", dead_letter_event({"payload": 1}, attempts=2)).value[3] == 2
    assert shop.run("later", invoke_event([1])).value == [1]
    assert shop.run("web", queue_event(1)).value[0] == "queue"


def test_routes_and_requests_to_the_outside(shop: App) -> None:
    seen: list[HttpRequest] = []

    def answer(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse(202, {}, b'{"taken": true}', request.url)

    shop.secrets["key"] = "s3cret"
    shop.answer_http = answer
    done = shop.request("POST", "/orders/7", json={"n": 1})
    assert done.response is not None
    assert (done.response.status, done.value) == (202, {"taken": True})
    assert (seen[0].headers["authorization"], seen[0].content) == ("s3cret", b'{"n":1}')
    assert shop.request("POST", "/orders/7").value[1] == {"id": "7"}
    with pytest.raises(LookupError, match="no route for GET /orders/7"):
        shop.request("GET", "/orders/7")


def test_version_checks_work_as_on_a_node(tmp_path: Path, picloud_app: Load) -> None:
    (tmp_path / "picloud.toml").write_text('[app]\nname = "kv"\n')
    (tmp_path / "swap.py").write_text(
        "def handle(event, ctx):\n    kv.set('a', event.payload['new'], if_version=event.payload['seen'])\n"
    )
    (tmp_path / "look.py").write_text("def handle(event, ctx):\n    return kv.entry('a').version\n")
    app = picloud_app(tmp_path)
    app.run("swap", {"new": 1, "seen": 0})
    seen = app.run("look").value
    app.run("swap", {"new": 2, "seen": seen})
    with pytest.raises(HandlerFailed, match="has another version"):
        app.run("swap", {"new": 3, "seen": seen})


def test_time_stands_where_the_test_puts_it(tmp_path: Path, picloud_app: Load) -> None:
    (tmp_path / "picloud.toml").write_text('[app]\nname = "clock"\n')
    (tmp_path / "look.py").write_text(
        dedent(
            """
            import time
            from datetime import UTC, date, datetime

            def handle(event, ctx):
                return [time.time(), datetime.now(UTC), datetime.utcnow(), str(date.today())[:4], datetime.now().year]
            """
        )
    )
    app = picloud_app(tmp_path)
    app.now = datetime(2030, 6, 15, 12, tzinfo=UTC)
    assert app.run("look").value == [
        app.now.timestamp(),
        "2030-06-15T12:00:00+00:00",
        "2030-06-15T12:00:00",
        "2030",
        2030,
    ]
    app.now = None
    assert app.run("look").value[4] == datetime.now(UTC).year


def test_schedules_fire_with_the_clock_of_their_zone_and_with_what_picloud_toml_says(shop: App) -> None:
    (done,) = shop.fire("nightly", datetime(2027, 7, 1, tzinfo=UTC))
    assert done.value == ["2027-07-01 02:00:00+02:00", 3]
    assert shop.fire("orders") == []
    assert shop.queues["orders"] == [{"sku": "refill", "to": "us"}]
    with pytest.raises(LookupError, match="no schedule for 'order'"):
        shop.fire("order")
