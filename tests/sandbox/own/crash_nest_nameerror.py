# crash: 300000 nested nameerror objects are freed | expected: blocked at run
def handle(event, ctx):
    e = None
    for i in range(300000): e = NameError('x', name=e)
    e = None
    return 'blocked'
