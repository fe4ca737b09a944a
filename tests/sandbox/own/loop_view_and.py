# memory: dict view & endless range is one C loop | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len({-1: 2}.keys() & range(10**12)))
