# memory: setattr(e, 'args', endless iterator) | expected: blocked at run
def handle(event, ctx):
    class E(Exception): pass
    error = E()
    setattr(error, 'args', map(abs, range(10**12)))
    return 'blocked'
