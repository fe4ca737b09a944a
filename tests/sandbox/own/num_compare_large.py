# cpu: == of lists of 200000 large ints | expected: blocked at run
def handle(event, ctx):
    big, other = (1 << 65000) + 1, (1 << 65000) + 1
    for i in range(20): [big] * 190000 == [other] * 190000
    return 'blocked'
