"""examples/saga: whatever the order of things, goods are sold, or in stock; never both, never lost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from picloud.testing import App, HandlerFailed, dead_letter_event, invoke_event

FOLDER = Path(__file__).parents[2] / "examples" / "saga"
DECLINED = "4000000000000002"


def read(name: str) -> list[Any]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def app(picloud_app: Callable[[Path], App]) -> App:
    return picloud_app(FOLDER)


def deliver_one_by_one(app: App, queue: str) -> None:
    """Deliver as a node does to messages of one group."""
    waiting, app.queues[queue] = app.queues[queue], []
    for payload in waiting:
        app.queues[queue] = [payload]
        app.deliver(queue)


def charge_all(app: App) -> None:
    """Deliver what is to be charged; those that fail twice die, and a script hears of them."""
    for done in (app.deliver("charges", check=False), app.deliver("charges", check=False)):
        assert all(one.error is None or one.error.message == "the card was declined" for one in done)
    dead, app.queues["charges"] = app.queues["charges"], []
    for payload in dead:
        event = dead_letter_event({"payload": payload}, {"message": "the card was declined"}, attempts=2)
        app.run("compensate", event)
        # heard of twice, or replayed after it was undone: nothing more happens
        app.run("compensate", event)
        app.run("charge", payload)
    for script, args in app.later:
        app.run(script, invoke_event(args))
    app.later.clear()


def states(app: App) -> dict[str, str]:
    return {key.removeprefix("order/"): order["state"] for key, order in app.kv.items() if key.startswith("order/")}


def test_orders_of_the_example_end_as_its_readme_says(app: App) -> None:
    app.queues["deliveries"], app.queues["orders"] = read("deliveries.jsonl"), read("orders.jsonl")
    app.deliver("deliveries")
    deliver_one_by_one(app, "orders")
    deliver_one_by_one(app, "reservations")
    charge_all(app)
    assert states(app) == {"1001": "charged", "1002": "cancelled", "1003": "charged", "1004": "sold out"}
    assert (app.kv["stock/tea"], app.kv["stock/mug"]) == (6, 1)
    assert sorted(mail["text"] for mail in app.queues["mails"]) == [
        "Order 1001: 4 × tea, 18.00 EUR. Thank you.",
        "Order 1002: cancelled, the card was declined.",
        "Order 1003: 2 × mug, 24.00 EUR. Thank you.",
        "Order 1004: sold out.",
    ]
    shown = app.request("GET", "/orders/1002").value
    assert shown == {"id": "1002", "state": "cancelled", "why": "the card was declined"}
    assert app.request("GET", "/stock/tea").value == {"left": 6}
    missing = app.request("GET", "/orders/9").response
    assert missing is not None
    assert missing.status == 404


@pytest.mark.parametrize("seed", range(5))
def test_goods_are_sold_or_in_stock_whatever_is_ordered(app: App, seed: int) -> None:
    dice = random.Random(seed)
    app.kv["stock/tea"] = 60
    for number in range(30):
        card = DECLINED if dice.random() < 0.4 else "4242424242424242"
        order = {"id": str(number), "sku": "tea", "count": dice.randint(1, 5), "cents": 100, "card": card}
        app.queues["orders"].append({**order, "email": "a@example.com"})
        if dice.random() < 0.5:
            deliver_one_by_one(app, "orders")
            deliver_one_by_one(app, "reservations")
        if dice.random() < 0.3:
            charge_all(app)
    deliver_one_by_one(app, "orders")
    deliver_one_by_one(app, "reservations")
    charge_all(app)
    orders = [order for key, order in app.kv.items() if key.startswith("order/")]
    assert {order["state"] for order in orders} <= {"charged", "cancelled", "sold out"}
    sold = sum(order["count"] for order in orders if order["state"] == "charged")
    assert app.kv["stock/tea"] + sold == 60
    assert len(app.queues["mails"]) == len(orders) == 30


def test_order_of_nothing_is_refused(app: App) -> None:
    with pytest.raises(HandlerFailed, match="an order of -1"):
        app.run("order", {**read("orders.jsonl")[0], "count": -1})
    assert states(app) == {}
