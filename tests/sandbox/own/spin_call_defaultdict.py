# cpu: __call__ of a defaultdict factory spins | expected: blocked at run
from collections import defaultdict
class A:
    def __call__(self):
        while True: pass

def handle(event, ctx):
    d = defaultdict(A())
    d['x'] += 1
    return 'PWNED'
