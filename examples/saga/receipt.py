"""Run by invoke_async, after the charge is committed."""

from picloud.sdk import kv, queue


def handle(event, ctx):
    order = kv.get(f"order/{event.body['id']}")
    text = f"Order {order['id']}: {order['count']} × {order['sku']}, {order['cents'] / 100:.2f} EUR. Thank you."
    queue.enqueue("mails", {"to": order["email"], "text": text})
