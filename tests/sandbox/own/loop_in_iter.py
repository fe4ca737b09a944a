# cpu: `in` over an endless iter is one C loop | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' if -1 in iter(range(10**12)) else 'PWNED'
