# cpu: the first comparison of a chain makes its middle deep | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

class A:
    def __le__(self, other):
        middle.append(deep())
        last.append(deep())
        return True

middle, last = [], []
a = A()

def handle(event, ctx):
    if a <= middle <= last: pass
    return 'blocked'
