# toctou: named tuples whose parts change while they are compared, hashed and written | expected: blocked at run
from collections import namedtuple
import json
P = namedtuple('P', 'x y')

def deep():
    a = []
    for i in range(40): a = [a, a]
    return a

grown = []

class A:
    def __eq__(self, other):
        grown.append(deep())
        return True

def handle(event, ctx):
    for use in (lambda: P(A(), grown) == P(A(), grown), lambda: sorted([P(deep(), 1), P(deep(), 2)]), lambda: deep() in P(deep(), 1)):
        try: use()
        except (LimitError, TypeError): continue
        if not grown: return 'PWNED'
        grown.clear()
    return 'blocked'
