# memory: a starred target of a comprehension takes an endless iterator | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str([first for first, *rest in [iter(range(10**12))]])
