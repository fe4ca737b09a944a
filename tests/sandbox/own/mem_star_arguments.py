# memory: a million arguments to functions of the host | expected: blocked at run
def handle(event, ctx):
    import math, itertools
    many = [1] * 1000000
    for f in (max, print, math.hypot, zip, itertools.chain, itertools.zip_longest, math.lcm, math.gcd, set().union, Response, log.info, invoke):
        try: f(*many)
        except (TypeError, LimitError): pass
    try: next(zip(*[many] * 1000))
    except LimitError: pass
    return 'blocked'
