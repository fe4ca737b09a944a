# cpu: `in` over an endless enumerate is one C loop | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' if -1 in enumerate(range(10**12)) else 'PWNED'
