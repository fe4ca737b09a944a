# cpu: a large int is looked for in a million equal but other ones | expected: blocked at run
def handle(event, ctx):
    big, other, last = 1 << 65000, 1 << 65000, 1 << 65000
    rows = [other + 1] * 1000000
    for i in range(20):
        if big in rows: pass
        rows.count(last)
    return 'blocked'
