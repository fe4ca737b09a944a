# memory: random integers, bytes and samples without bound | expected: blocked at run
import random

def handle(event, ctx):
    r = random.Random(1)
    for make in (lambda: r.getrandbits(10 ** 10), lambda: r.randbytes(10 ** 9), lambda: r.choices([1], k=10 ** 9), lambda: random.getrandbits(10 ** 10), lambda: r.sample(range(10 ** 6), 10 ** 7), lambda: random.randbytes(10 ** 9)):
        try: return 'PWNED' + str(len(str(make())))
        except (LimitError, ValueError): pass
    return 'blocked'
