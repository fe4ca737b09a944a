# recursion: a script keeps bridges of the SDK in cycles and generators | expected: blocked at run
from picloud.sdk import queue, log

def g():
    try: yield log.info
    finally: queue.enqueue('q', 1)

def handle(event, ctx):
    x = g()
    next(x)
    ring = [x, queue, log, ctx, event]
    ring.append(ring)
    return 'blocked'
