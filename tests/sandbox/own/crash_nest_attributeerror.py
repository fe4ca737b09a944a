# crash: 300000 nested attributeerror objects are freed | expected: blocked at run
def handle(event, ctx):
    e = None
    for i in range(300000): e = AttributeError('x', obj=e)
    e = None
    return 'blocked'
