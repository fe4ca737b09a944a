# cpu: set.union of one large set a thousand times is one C call | expected: blocked at run
def handle(event, ctx):
    s = set(range(4000))
    for name in ('union', 'intersection', 'difference', 'difference_update'):
        getattr(set(s), name)(*[s] * 300000)
    return 'blocked'
