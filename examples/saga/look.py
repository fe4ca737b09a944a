"""Show an order, or how much of a product is left."""

from picloud.sdk import Response, kv


def handle(event, ctx):
    if "sku" in event.params:
        return {"left": kv.get(f"stock/{event.params['sku']}", 0)}
    order = kv.get(f"order/{event.params['id']}")
    if order is None:
        return Response({"error": "no such order"}, status=404)
    return {"id": order["id"], "state": order["state"], "why": order.get("why")}
