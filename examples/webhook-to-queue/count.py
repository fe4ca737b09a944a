"""Count what happens in each repository, every delivery once."""

from picloud.sdk import kv, log


def handle(event, ctx):
    delivery = event.payload
    seen = f"seen/{delivery['id']}"
    if kv.get(seen):
        # sent again after the first one had left the queue
        log.info("delivered again", delivery=delivery["id"])
        return
    kv.set(seen, True)
    kv.increment(f"count/{delivery['event']}")
    log.info("counted", event=delivery["event"], action=delivery["action"], repository=delivery["repository"])
