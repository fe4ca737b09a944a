# evade: a generator that the log keeps alive goes on after the run | expected: blocked at run
from picloud.sdk import log, queue

def g():
    for i in range(10**9):
        try: yield i
        finally: queue.enqueue('q', i)

class Keep:
    def __init__(self): self.g = g()
    def __repr__(self): return str(next(self.g))

def handle(event, ctx):
    keep = Keep()
    log.info(keep, k=keep)
    raise ValueError(keep)
