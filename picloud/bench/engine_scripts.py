"""The scripts that the engine suite runs: in the sandbox and in plain CPython, with the same event."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from picloud.engine import QueueEvent

NOOP: Final = """\
def handle(event, ctx):
    return {"ok": True}
"""

INVOKE: Final = """\
from picloud.sdk import invoke

def handle(event, ctx):
    for _ in range(event.payload):
        invoke("noop")
"""

SPIN: Final = """\
def handle(event, ctx):
    n = 0
    while True:
        n += 1
"""

TYPICAL: Final = """\
import json

RATES = {"DE": 0.19, "FR": 0.20, "IT": 0.22}


def parse(line):
    name, price, count = line.split(",")
    return {"name": name.strip().lower(), "price": float(price), "count": int(count)}


def subtotal(items):
    total = 0.0
    for item in items:
        total += item["price"] * item["count"]
    return total


def group(names):
    groups = {}
    for name in names:
        groups.setdefault(name[0], []).append(name)
    return {letter: sorted(found) for letter, found in groups.items()}


def describe(order):
    lines = [f"order {order['id']} for {order['country']}"]
    for number, item in enumerate(order["items"], start=1):
        lines.append(f"{number}. {item['name'].title()} x {item['count']}: {item['price']:.2f}")
    return "\\n".join(lines)


def handle(event, ctx):
    orders, seen, names = [], set(), []
    for entry in json.loads(event.payload["text"]):
        if entry["id"] in seen:
            continue
        seen.add(entry["id"])
        items = [parse(line) for line in entry["lines"] if line]
        net = subtotal(items)
        tax = net * RATES.get(entry["country"], 0.25)
        order = {"id": entry["id"], "country": entry["country"], "items": items, "gross": round(net + tax, 2)}
        order["text"] = describe(order)
        if len(items) > 2 and order["gross"] >= 10:
            order["note"] = "large: " + str(len(items)) + " items"
        names.extend([item["name"] for item in items])
        orders.append(order)
    orders.sort(key=lambda order: order["gross"], reverse=True)
    report = {"orders": orders, "total": sum([order["gross"] for order in orders]), "groups": group(names)}
    return json.loads(json.dumps(report))
"""

ATTRIBUTE_CALLS: Final = """\
def handle(event, ctx):
    counts = {}
    items = []
    seen = set()
    for number in range(8000):
        key = number % 97
        counts[key] = counts.get(key, 0) + 1
        items.append(number)
        if number % 3 == 0:
            items.pop()
        seen.add(key)
    total = 0
    for key, count in counts.items():
        total += count
    return [total, len(items), len(seen)]
"""

ARITHMETIC: Final = """\
def handle(event, ctx):
    a, b, total, at = 3, 7, 0, 0
    while at < 40000:
        total = (total * 31 + a * b - at) % 1000003
        a = a + 2
        b = (b + at) % 101
        total += a - b
        at += 1
    return total
"""

CALLS: Final = """\
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

def handle(event, ctx):
    return fib(20)
"""

STRINGS: Final = """\
def handle(event, ctx):
    lines = []
    for number in range(3000):
        name = "item" + str(number)
        if name.startswith("item1"):
            name = name.upper().replace("ITEM", "Item ")
        lines.append(f"{number}: {name} costs {number / 7:.2f}")
    text = "\\n".join(lines)
    words = [word.strip(":") for word in text.split()]
    return [len(text), len(words), "%s of %d" % (words[0], len(words))]
"""

JSON: Final = """\
import json

def handle(event, ctx):
    rows = [{"id": n, "tags": ["a", "b", str(n)], "size": {"w": n * 2, "h": n * 0.5}} for n in range(300)]
    found = []
    for row in json.loads(json.dumps(rows)):
        if row["size"]["w"] % 4 == 0:
            found.append({"id": row["id"], "tag": row["tags"][2], "area": row["size"]["w"] * row["size"]["h"]})
    return json.loads(json.dumps({"found": found, "count": len(found)}, sort_keys=True))
"""

_ORDERS: Final = """\
[{"id": "o-1", "country": "DE", "lines": ["Apple,1.20,3", "Bread ,2.80,1", "Butter,3.10,2", "Cheese,7.95,1"]},
 {"id": "o-2", "country": "FR", "lines": [" Wine,12.50,2", "Apple,1.10,10", ""]},
 {"id": "o-2", "country": "FR", "lines": []},
 {"id": "o-3", "country": "ES", "lines": ["Coffee,9.99,1", "Cup,4.00,6", "Sugar,1.49,2"]},
 {"id": "o-4", "country": "IT", "lines": ["Pasta,0.99,8", "Pesto,3.29,2", "Basil,1.99,1", "Oil,11.00,1"]}]
"""


def make_event(payload: object = None) -> QueueEvent:
    """Return the event that the scripts get; without a payload of its own that of `TYPICAL`."""
    found = {"text": _ORDERS} if payload is None else payload
    return QueueEvent("orders", "m-1", found, 1, 3, datetime(2026, 12, 1, tzinfo=UTC))
