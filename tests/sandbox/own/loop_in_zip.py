# cpu: `in` over an endless zip is one C loop | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' if -1 in zip(range(10**12)) else 'PWNED'
