# crash: a deque is cleared while it is compared | expected: blocked at run
from collections import deque, Counter

class A:
    def __eq__(self, other):
        d.clear()
        d.extend([1, 2, 3])
        return False
    def __lt__(self, other):
        d.clear()
        return True

d = deque()

def handle(event, ctx):
    for i in range(500):
        d.extend([A(), A(), A()])
        for f in (lambda: d.index(1), lambda: d.count(A()), lambda: d.remove(A()), lambda: d == deque([A(), 1]), lambda: sorted(d), lambda: max(d), lambda: A() in d, lambda: d < deque([A()]), lambda: Counter(a=A()) == Counter(a=A())):
            try: f()
            except (ValueError, IndexError, RuntimeError, TypeError): pass
    return 'blocked'
