# escape: a property returns another object each time it is read | expected: blocked at run
class A:
    def __init__(self): self.n = 0
    @property
    def x(self):
        self.n += 1
        return [[], {}, 'a', print, A][self.n % 5]

def handle(event, ctx):
    a = A()
    for i in range(50):
        for f in (lambda: a.x.append(1), lambda: a.x.update({1: 1}), lambda: a.x.join(['a']), lambda: a.x.__name__, lambda: a.x[0:1], lambda: a.x % 1, lambda: a.x + a.x):
            try: found = f()
            except Exception: continue
            if '__' in repr(found): return 'PWNED'
    return 'blocked'
