# cpu: isinstance with a tuple of a million types | expected: blocked at run
def handle(event, ctx):
    kinds = (str,) * 900000
    for i in range(20): isinstance(1, kinds)
    return 'blocked'
