# cpu: reduce and accumulate over endless iterators | expected: blocked at run
import functools, itertools

def handle(event, ctx):
    try: functools.reduce(max, itertools.count())
    except Exception: pass
    return 'PWNED'
