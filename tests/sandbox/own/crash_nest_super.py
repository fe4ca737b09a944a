# crash: 200000 nested super objects | expected: blocked at run
def handle(event, ctx):
    class A: pass
    a = A()
    for i in range(200000):
        b = A()
        b.x = super(A, a)
        a = b
    a = None
    return 'blocked'
