# memory: a % format shows one long value of a dict many times | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len(('%(a)s' * 1000) % {'a': 'x' * 4000000}))
