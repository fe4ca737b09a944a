# cpu: __lt__ makes the arguments of min deep | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

class A:
    def __eq__(self, other):
        one.append(deep())
        two.append(deep())
        return True

one, two = [A()], [A()]

def handle(event, ctx):
    min(one, two)
    return 'blocked'
