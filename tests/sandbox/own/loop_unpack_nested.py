# memory: a nested starred target takes an endless iterator | expected: blocked at run
def handle(event, ctx):
    first, (second, *rest) = 1, iter(range(10**12))
    return 'PWNED'
