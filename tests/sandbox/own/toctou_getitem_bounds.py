# cpu: __getitem__ and __len__ disagree with each other | expected: blocked at run
class A:
    def __init__(self): self.n = 0
    def __len__(self):
        self.n += 1
        return 1 if self.n < 2 else 2**62
    def __getitem__(self, at): return at
    def __bool__(self): return True

def handle(event, ctx):
    import random, json, re
    for f in (lambda: list(A()), lambda: 'x'.join(A()), lambda: random.choice(A()), lambda: sorted(A()), lambda: bytes(A()), lambda: reversed(A()), lambda: dict(A()), lambda: max(A()), lambda: re.sub('a', A(), 'a'), lambda: 'a'.strip(A()), lambda: random.sample(A(), 1)):
        try: f()
        except (TypeError, LimitError, ValueError, AttributeError): pass
    return 'blocked'
