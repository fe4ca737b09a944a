# cpu: sorting many large ints that differ at their end | expected: blocked at run
def handle(event, ctx):
    big = 1 << 65000
    some = [big + (i * 7919) % 1000 for i in range(1000)]
    rows = some * 190
    rows.sort()
    return 'blocked'
