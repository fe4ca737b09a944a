# memory: quote() keeps long `safe` characters that an object yields, for every app | expected: blocked at run
from urllib.parse import quote
class S:
    def __init__(self, n): self.n = n
    def __len__(self): return 1
    def __iter__(self): return iter(range(65, 66 + self.n % 20) if self.n < 0 else [65] * (100000 + self.n))
def handle(event, ctx):
    for n in range(5):
        quote('é', safe=S(n))
    return 'PWNED'
