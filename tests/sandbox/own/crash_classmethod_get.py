# crash: an attribute that is 100000 nested classmethods | expected: blocked at run
def handle(event, ctx):
    p = len
    for i in range(100000): p = classmethod(p)
    class A: pass
    A.m = p
    try: A.m
    except (TypeError, RecursionError): pass
    return 'blocked'
