# cpu: __eq__ makes both lists deep while they are compared | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

class A:
    def __eq__(self, other):
        left.append(deep())
        right.append(deep())
        return True

left, right = [A()], [A()]

def handle(event, ctx):
    left == right
    return 'blocked'
