# cpu: Counter() of one tuple of 200000 numbers | expected: blocked at run
def handle(event, ctx):
    from collections import Counter
    Counter([(0,) * 200000] * 100000)
    return 'blocked'
