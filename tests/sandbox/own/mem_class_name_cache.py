# memory: a % format keeps the long name of a namedtuple, for every app | expected: blocked at run
from collections import namedtuple
def handle(event, ctx):
    for n in range(20):
        kind = namedtuple('a' * 4000000 + str(n), 'x')
        '%s' % kind(1)
    return 'PWNED'
