# cpu: named tuples of 2**40 values are written, shown, hashed, named and returned | expected: blocked at run
from collections import namedtuple
import json
P = namedtuple('P', 'x y')

def deep():
    a = []
    for i in range(40): a = [a, a]
    return a

def handle(event, ctx):
    for use in (lambda: json.dumps(P(deep(), 1)), lambda: repr(P(1, P(1, deep()))), lambda: hash(P(P(1, 2), P(1, deep()))), lambda: namedtuple('P', [deep()])):
        try: use()
        except (LimitError, TypeError, ValueError): continue
        return 'PWNED'
    return P(1, deep())
