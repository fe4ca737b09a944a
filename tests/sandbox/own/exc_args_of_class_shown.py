# cpu: repr of an error whose class has other args | expected: blocked at run
def handle(event, ctx):
    class E(ValueError):
        args = iter(range(10**12))
    return 'blocked' if repr(E('x')) == "E('x')" and str(E('x')) == 'x' else 'PWNED'
