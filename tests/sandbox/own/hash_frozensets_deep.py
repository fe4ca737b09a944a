# cpu: frozensets of one hash, nested 14 deep, are compared and looked up | expected: blocked at run
def handle(event, ctx):
    p = 2**61 - 1
    def fs(level, n):
        if level == 0:
            return n * p
        return frozenset({fs(level - 1, 2 * n), fs(level - 1, 2 * n + 1)})
    a = fs(14, 1)
    b = fs(14, 1)
    return [a == b, {a: 1}[b]]
