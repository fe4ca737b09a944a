# cpu: `in` over a generator that yields from an endless range | expected: blocked at run
def handle(event, ctx):
    def g():
        yield from range(10**12)
    return 'PWNED' if -1 in g() else 'PWNED'
