# memory: Counter.update adds texts to themselves | expected: blocked at run
def handle(event, ctx):
    from collections import Counter
    c = Counter()
    for i in range(1000): c[i] = 'x' * 1000
    for i in range(40): c.update(c)
    return 'PWNED'
