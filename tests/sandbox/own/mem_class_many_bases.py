# cpu: a class with thousands of bases is merged in C | expected: blocked at run
def handle(event, ctx):
    bases = []
    for i in range(6000):
        class A: pass
        bases.append(A)
    class Big(*bases): pass
    return 'blocked'
