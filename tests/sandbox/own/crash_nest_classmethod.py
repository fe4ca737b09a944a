# crash: 300000 nested classmethod objects are freed | expected: blocked at run
def handle(event, ctx):
    p = None
    for i in range(300000): p = classmethod(p)
    p = None
    return 'blocked'
