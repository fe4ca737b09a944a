# crash: 300000 nested property_setter objects are freed | expected: blocked at run
def handle(event, ctx):
    p = None
    for i in range(300000): p = property(None, p)
    p = None
    return 'blocked'
