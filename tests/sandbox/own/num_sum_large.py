# cpu: sum of a million large ints is one C call | expected: blocked at run
def handle(event, ctx):
    big = 1 << 65000
    return 'PWNED' if sum([big] * 1000000) else ''
