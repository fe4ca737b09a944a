# cpu: frozensets of frozensets of one hash are compared | expected: blocked at run
def handle(event, ctx):
    p = 2**61 - 1
    def make():
        out = []
        for i in range(100):
            out.append(frozenset({(i * 100 + j) * p for j in range(100)}))
        return frozenset(out)
    return make() == make()
