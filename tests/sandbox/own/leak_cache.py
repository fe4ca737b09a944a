# leak: what one app cached is there for the next | expected: blocked at run
from functools import cache

@cache
def f(n, run=[]):
    run.append(1)
    return len(run)

def handle(event, ctx):
    return 'blocked' if f(1) == 1 and f.cache_info().hits == 0 else 'PWNED'
