# leak: wraps() names functions of the host | expected: blocked at run
import functools, json, operator

def changed(): return 1

def handle(event, ctx):
    names = [f.__name__ for f in (json.dumps, len, operator.add, functools.cache)]
    for f in (json.dumps, len, operator.add, functools.cache, functools.partial(changed), print):
        functools.wraps(changed)(f)
    return 'PWNED' if 'changed' in names or 'changed' in [json.dumps.__name__, len.__name__] else 'blocked'
