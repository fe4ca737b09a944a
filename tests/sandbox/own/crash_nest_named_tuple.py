# crash: nested named tuples are freed, shown, hashed and compared | expected: blocked at run
from collections import namedtuple
P = namedtuple('P', 'x')

def handle(event, ctx):
    p = P(1)
    for i in range(30000): p = P(p)
    for use in (repr, hash, lambda v: v == P(v), lambda v: v < P(v), lambda v: v in P(v)):
        try: use(p)
        except (RecursionError, LimitError): pass
    p = None
    return 'blocked'
