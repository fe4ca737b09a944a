# memory: e.args = an endless iterator is a C loop | expected: blocked at run
def handle(event, ctx):
    class E(Exception): pass
    error = E()
    error.args = iter(range(10**12))
    return 'blocked'
