# cpu: set operators on long tuples of one hash | expected: blocked at run

def handle(event, ctx):
    p = 2**61 - 1
    pre = [0] * 1000
    def make(k, n):
        made = set()
        for i in range(n):
            made.add(tuple(pre + [(i * 2 + k) * p]))
        return made
    a = make(0, 400)
    b = make(1, 400)

    c = a | b
    return len(c)
