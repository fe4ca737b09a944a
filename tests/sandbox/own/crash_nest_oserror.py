# crash: 300000 nested oserror objects are freed | expected: blocked at run
def handle(event, ctx):
    e = None
    for i in range(300000): e = OSError(1, 'x', e)
    e = None
    return 'blocked'
