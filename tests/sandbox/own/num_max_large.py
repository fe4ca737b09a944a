# cpu: max of many large ints | expected: blocked at run
def handle(event, ctx):
    big = 1 << 65000
    for i in range(20): max([big, big + 0] * 95000)
    return 'blocked'
