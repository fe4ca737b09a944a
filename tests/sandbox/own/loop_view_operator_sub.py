# memory: operator.sub(dict view, endless range) | expected: blocked at run
def handle(event, ctx):
    import operator
    return 'PWNED' + str(operator.sub({-1: 2}.keys(), range(10**12)))
