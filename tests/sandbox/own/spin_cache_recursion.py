# recursion: a cached function calls itself without end | expected: blocked at run
from functools import cache, cached_property

@cache
def f(n): return f(n + 1)

class A:
    @cached_property
    def x(self): return self.x

def handle(event, ctx):
    try: A().x
    except RecursionError: pass
    return 'PWNED' + str(f(0))
