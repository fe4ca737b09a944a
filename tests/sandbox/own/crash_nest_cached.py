# crash: nested caches, keys and callers are freed | expected: blocked at run
import functools, operator

def handle(event, ctx):
    f = len
    for i in range(20000): f = functools.cache(f)
    f = None
    for i in range(20000): f = operator.methodcaller('x', f)
    f = None
    return 'blocked'
