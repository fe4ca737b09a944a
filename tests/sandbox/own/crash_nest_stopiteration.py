# crash: 300000 nested stopiteration objects are freed | expected: blocked at run
def handle(event, ctx):
    e = None
    for i in range(300000): e = StopIteration(e)
    e = None
    return 'blocked'
