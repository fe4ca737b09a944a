# cpu: __lt__ of a count makes other counts deep while most_common(n) selects | expected: blocked at run
from collections import Counter
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
one, two = [], []
class A:
    def __lt__(self, other):
        one.append(deep()); two.append(deep())
        return True
    def __eq__(self, other):
        one.append(deep()); two.append(deep())
        return True
def handle(event, ctx):
    c = Counter()
    c['a'], c['b'], c['c'] = [A(), one], [A(), two], [A(), one]
    'PWNED' + str(len(c.most_common(2)))
    return 'blocked'
