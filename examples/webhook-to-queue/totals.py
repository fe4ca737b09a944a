"""How many deliveries of each kind were counted."""

from picloud.sdk import kv


def handle(event, ctx):
    return {key.removeprefix("count/"): kv.get(key) for key in kv.list("count/")}
