# cpu: Counter.most_common compares deep values | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    from collections import Counter
    c = Counter()
    c['a'] = deep()
    c['b'] = deep()
    return 'PWNED' + str(c.most_common(1))
