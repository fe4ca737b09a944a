"""Third step: take the money. What fails here for good is a dead letter, and compensate.py hears of it."""

from picloud.sdk import invoke_async, kv, log

DECLINED = ("4000000000000002", "4000000000009995")


def handle(event, ctx):
    key = f"order/{event.payload['id']}"
    found = kv.entry(key)
    order = found.value
    if order["state"] != "reserved":
        # a dead letter that was replayed after all was undone: too late
        log.warning("not charged", order=order["id"], state=order["state"])
        return
    charge(order)
    kv.set(key, {**order, "state": "charged"}, if_version=found.version)
    invoke_async("receipt", {"id": order["id"]})


def charge(order):
    # Stands for the bank. A real one is asked with http.request, and the order's id as the idempotency key: a request
    # is no effect that can be taken back, and the next attempt asks again.
    if order["card"] in DECLINED:
        raise ValueError("the card was declined")
