"""Make the report of yesterday, as the clock of the trigger's time zone has it, and send it to `reports`."""

from datetime import timedelta

from picloud.sdk import kv, log, queue


def handle(event, ctx):
    # the time that was due, not the time at which this runs: a report that is made up for is that of its own day
    day = (event.scheduled_for.date() - timedelta(days=1)).isoformat()
    prefix = f"sold/{day}/"
    cents = {key.removeprefix(prefix): kv.get(key) for key in kv.list(prefix)}
    ranking = sorted(cents.items(), key=lambda item: (-item[1], item[0]))
    report = {
        "day": day,
        "total_cents": sum(cents.values()),
        "top": [{"product": name, "cents": amount} for name, amount in ranking[: event.payload["top"]]],
    }
    queue.enqueue("reports", report, dedup_key=day)
    for name in cents:
        kv.delete(prefix + name)
    log.info("reported", day=day, products=len(cents))
    return report
