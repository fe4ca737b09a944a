# cpu: set operators on long integers of one hash | expected: blocked at run
def handle(event, ctx):
    p = 2**61 - 1
    big = 1 << 60000
    a = set()
    b = set()
    for i in range(420):
        a.add((big // p) * p + i * p)
        b.add((big // p) * p + (i + 1000) * p)
    return len(a | b)
