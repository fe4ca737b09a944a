"""Count a sale for its day: the messages of `sales` are {"day": "2027-03-27", "product": "tea", "cents": 450}."""

from picloud.sdk import kv


def handle(event, ctx):
    sale = event.payload
    if sale["cents"] < 0:
        raise ValueError(f"a sale of {sale['cents']} cents: send a refund instead")
    # effects: they take place once, together with the acknowledgement of the message
    kv.increment(f"sold/{sale['day']}/{sale['product']}", sale["cents"])
