# cpu: the key of lru_cache is a tuple of 2**60 values | expected: blocked at run
from functools import cache, lru_cache

def deep():
    a = ()
    for i in range(60): a = (a, a)
    return a

@cache
def f(*args, **named): return 1

def handle(event, ctx):
    for call in (lambda: f(deep()), lambda: f(x=deep()), lambda: f(*[deep()] * 3), lambda: lru_cache(3, True)(f)(deep())):
        try: return 'PWNED' + str(call())
        except LimitError: pass
    return 'blocked'
