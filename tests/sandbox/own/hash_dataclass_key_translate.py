# cpu: str.translate asks a key of a script whose __eq__ spins | expected: blocked at run
@dataclass(frozen=True)
class K:
    n: int
    def __eq__(self, other):
        while True: pass

def handle(event, ctx):
    table = {K(i): 'x' for i in range(100)}
    for code in range(97, 123): table[code] = 'y'
    ('abc' * 100000).translate(table)
    d = {K(1): 1}
    d[K(1)]
    return 'blocked'
