# sdk: a date that is none, made of the bytes that pickle uses | expected: blocked at run
from datetime import datetime, timezone, timedelta
def handle(event, ctx):
    found = []
    for when in (lambda: datetime(b'\xff\xff\x01\xff\xff\xff\xff\xff\xff\xff', timezone.utc),
                 lambda: datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
                 lambda: datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-14)))):
        try:
            queue.enqueue('q', 1, deliver_after=when())
            found.append(str(when()))
        except ValueError as e: pass
    return 'PWNED' + str(found) if found else 'blocked'
