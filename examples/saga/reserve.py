"""Second step: take the goods out of the stock, and ask for the money."""

from picloud.sdk import kv, queue


def handle(event, ctx):
    key = f"order/{event.payload['id']}"
    found = kv.entry(key)
    order = found.value
    if order["state"] != "placed":
        return
    stock = f"stock/{order['sku']}"
    if kv.get(stock, 0) < order["count"]:
        # nothing was done yet that is to be undone: an end, not a failure
        kv.set(key, {**order, "state": "sold out"}, if_version=found.version)
        queue.enqueue("mails", {"to": order["email"], "text": f"Order {order['id']}: sold out."})
        return
    kv.increment(stock, -order["count"])
    kv.set(key, {**order, "state": "reserved"}, if_version=found.version)
    queue.enqueue("charges", {"id": order["id"]})
