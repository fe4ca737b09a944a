# memory: a cache keeps what it is asked for | expected: blocked at run
from functools import cache

@cache
def f(n): return 'x' * 1_000_000 + str(n)

def handle(event, ctx):
    n = 0
    while True:
        n += 1
        f(n)
