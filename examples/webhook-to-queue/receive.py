"""Take a delivery whose signature was checked already, and queue it: it is committed before GitHub has its answer."""

import json

from picloud.sdk import Response, queue


def handle(event, ctx):
    kind = event.headers.get("x-github-event")
    delivery = event.headers.get("x-github-delivery")
    if not kind or not delivery:
        return Response(
            {"error": "no delivery of GitHub: X-GitHub-Event and X-GitHub-Delivery are missing"}, status=400
        )
    payload = event.body
    if event.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        # the webhook's other content type
        payload = json.loads(payload["payload"])
    if kind == "ping":
        return {"pong": payload.get("zen")}
    repository = (payload.get("repository") or {}).get("full_name", "none")
    message = queue.enqueue(
        "deliveries",
        {"id": delivery, "event": kind, "action": payload.get("action"), "repository": repository},
        # GitHub sends a delivery again when somebody asks it to
        dedup_key=delivery,
        # what happens in one repository is worked on in order
        group_key=repository,
    )
    return Response({"queued": message}, status=202)
