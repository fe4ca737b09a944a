"""Goods arrive: there is more to sell."""

from picloud.sdk import kv


def handle(event, ctx):
    goods = event.payload
    return kv.increment(f"stock/{goods['sku']}", goods["count"])
