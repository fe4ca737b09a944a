# recursion: a property and a default factory that call replace() again | expected: blocked at run
from dataclasses import dataclass, field, replace

def again(): return replace(A(x=1, held=[]))

@dataclass
class A:
    x: int = 0
    held: list = field(default_factory=lambda: again())

@dataclass
class B:
    x: int = 0

B.x = property(lambda self: replace(self), lambda self, value: None)

def handle(event, ctx):
    try: replace(B())
    except RecursionError: pass
    A.again = again
    while True: replace(A(1, [A(2, [])]), held=[replace(A())])
