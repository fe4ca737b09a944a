# crash: a dict is cleared while a key is compared | expected: blocked at run
@dataclass(frozen=True)
class K:
    n: int
    def __eq__(self, other):
        table.clear()
        rows.clear()
        for i in range(50): table[i] = i
        return False

table = {}
rows = []

def handle(event, ctx):
    for i in range(200):
        table[K(0)] = 1
        rows.extend([K(0), [K(0)], {1: K(0)}])
        for f in (lambda: table.get(K(0)), lambda: table.pop(K(0), 1), lambda: rows.index(K(1)), lambda: rows.count(K(1)), lambda: rows.remove(K(1)), lambda: rows == [K(0), [K(0)], {1: K(0)}], lambda: {K(0)} & {K(0)}, lambda: table == {K(0): 1}, lambda: K(0) in rows):
            try: f()
            except (ValueError, KeyError, RuntimeError): pass
    return 'blocked'
