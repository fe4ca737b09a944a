"""Sort GitHub's deliveries: what is about issues, what is about branches, and the rest."""

from picloud.sdk import log, queue

QUEUES = {
    "issues": "issues",
    "issue_comment": "issues",
    "push": "pushes",
    "create": "pushes",
    "delete": "pushes",
}

RETIRED = {"repository_vulnerability_alert": "dependabot_alert"}


def handle(event, ctx):
    kind = event.payload["event"]
    payload = event.payload["payload"]
    if kind == "ping":
        log.info("pong", zen=payload.get("zen"))
        return None
    if kind in RETIRED:
        raise ValueError(f"GitHub retired {kind}: subscribe the webhook to {RETIRED[kind]}")
    target = QUEUES.get(kind)
    if target is None:
        queue.enqueue("other", summarise(kind, payload))
        return "other"
    queue.enqueue(target, {"event": kind, "payload": payload})
    return target


def summarise(kind, payload):
    """Keep of a delivery what a person needs to decide whether anybody should handle its kind."""
    repository = payload.get("repository") or {}
    sender = payload.get("sender") or {}
    return {
        "event": kind,
        "action": payload.get("action"),
        "repository": repository.get("full_name"),
        "sender": sender.get("login"),
    }
