"""First step: note the order, and ask for its goods."""

from picloud.sdk import kv, log, queue


def handle(event, ctx):
    order = event.payload
    if order["count"] < 1:
        raise ValueError(f"an order of {order['count']}")
    key = f"order/{order['id']}"
    if kv.get(key) is not None:
        log.info("sent twice", order=order["id"])
        return
    kv.set(key, {**order, "state": "placed"}, if_version=0)
    # of one product one reservation at a time: what it finds in stock stays there until it has taken it
    queue.enqueue("reservations", {"id": order["id"]}, group_key=order["sku"])
