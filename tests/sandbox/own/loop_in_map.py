# cpu: `in` over an endless map is one C loop | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' if -1 in map(abs, range(10**12)) else 'PWNED'
