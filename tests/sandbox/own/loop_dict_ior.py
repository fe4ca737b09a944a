# memory: dict |= endless zip is one C loop | expected: blocked at run
def handle(event, ctx):
    d = {}
    d |= zip(range(10**12), range(10**12))
    return 'PWNED'
