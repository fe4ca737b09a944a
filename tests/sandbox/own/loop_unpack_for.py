# memory: a starred target of a for loop takes an endless iterator | expected: blocked at run
def handle(event, ctx):
    for first, *rest in [iter(range(10**12))]: pass
    return 'PWNED'
