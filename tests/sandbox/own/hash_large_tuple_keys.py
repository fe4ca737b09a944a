# cpu: set and dict copies of keys that are long tuples | expected: blocked at run
def handle(event, ctx):
    base = (0,) * 1000
    d = {base + (i,): i for i in range(4500)}
    for i in range(20): set(d); dict(d); d.copy(); d | d; d.keys() & d
    return 'blocked'
