"""The step back: an order that could not be charged gives its goods back, once."""

from picloud.sdk import kv, log, queue


def handle(event, ctx):
    key = f"order/{event.original['payload']['id']}"
    found = kv.entry(key)
    order = found.value
    if order["state"] != "reserved":
        log.info("nothing to undo", order=order["id"], state=order["state"])
        return
    why = event.error["message"]
    kv.increment(f"stock/{order['sku']}", order["count"])
    kv.set(key, {**order, "state": "cancelled", "why": why}, if_version=found.version)
    queue.enqueue("mails", {"to": order["email"], "text": f"Order {order['id']}: cancelled, {why}."})
