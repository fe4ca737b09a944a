# recursion: objects that compare each other | expected: blocked at run
class A:
    def __init__(self): self.other = self
    def __eq__(self, other): return [self.other] == [other.other]
    def __repr__(self): return f'{[self.other]}'
    def __bool__(self): return bool(self.other)
    def __len__(self): return len(self.other)
    def __iter__(self): return iter(self.other)
    def __contains__(self, item): return item in self.other
    def __call__(self): return self.other()
    def __getitem__(self, key): return self.other[key]

def handle(event, ctx):
    a, b = A(), A()
    for f in (lambda: a == b, lambda: repr(a), lambda: bool(a), lambda: len(a), lambda: list(a), lambda: 1 in a, lambda: a(), lambda: a[0], lambda: f'{a}', lambda: '%s' % a, lambda: sorted([a, b]), lambda: str(ValueError(a))):
        try: f()
        except (RecursionError, LimitError, TypeError): pass
    return 'blocked'
