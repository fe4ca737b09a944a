# toctou: total_ordering of a class whose __eq__ changes both sides | expected: blocked at run
import functools

@functools.total_ordering
class A:
    def __init__(self): self.held = []
    def __eq__(self, other):
        self.held.append(other)
        other.held.append(self)
        return self <= other
    def __lt__(self, other): return False

def handle(event, ctx):
    return 'PWNED' + str(sorted([A(), A(), A()], reverse=True)[0] <= A())
