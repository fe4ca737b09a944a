# cpu: colliding keys of a cache | expected: blocked at run
from functools import cache

@cache
def f(n): return n

def handle(event, ctx):
    for i in range(100_000): f(i * (2 ** 61 - 1))
    for i in range(100_000): f(i * (2 ** 61 - 1))
    return 'PWNED'
