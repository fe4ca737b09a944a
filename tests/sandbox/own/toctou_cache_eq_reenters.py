# toctou: __eq__ of a key calls the cached function and clears its cache | expected: blocked at run
from dataclasses import dataclass
from functools import lru_cache

@dataclass(frozen=True)
class Key:
    n: int
    def __eq__(self, other):
        f.cache_clear()
        f(Key(self.n + 1000003 * (2 ** 61 - 1))) if self.n < 5 else None
        return False

@lru_cache(maxsize=3)
def f(key): return key.n

def handle(event, ctx):
    for i in range(300): f(Key(i % 7 * (2 ** 61 - 1)))
    info = f.cache_info()
    return 'blocked' if info.currsize <= 3 else 'PWNED'
