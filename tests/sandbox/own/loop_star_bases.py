# memory: class bases from an endless iterator | expected: blocked at run
def handle(event, ctx):
    class A(*iter(range(10**12))): pass
    return 'PWNED'
