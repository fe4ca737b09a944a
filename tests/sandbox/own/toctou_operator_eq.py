# cpu: operator.eq of lists that __eq__ makes deep | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

import operator
class A:
    def __eq__(self, other):
        one.append(deep())
        two.append(deep())
        return True

one, two = [A()], [A()]

def handle(event, ctx):
    operator.eq(one, two)
    return 'blocked'
