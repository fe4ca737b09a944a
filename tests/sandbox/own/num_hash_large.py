# cpu: hash of a tuple of 200000 large ints | expected: blocked at run
def handle(event, ctx):
    big = 1 << 65000
    for i in range(20): hash((big,) * 190000)
    return 'blocked'
