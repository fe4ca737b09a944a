# cpu: dict() of pairs whose key is one tuple of 200000 numbers | expected: blocked at run
def handle(event, ctx):
    key = (0,) * 200000
    dict([(key, 1)] * 100000)
    return 'blocked'
