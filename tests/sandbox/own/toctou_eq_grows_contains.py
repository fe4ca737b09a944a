# cpu: __eq__ makes the item deep while `in` looks for it | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

class A:
    def __eq__(self, other):
        item.append(deep())
        found.append(deep())
        return True

item, found = [A()], [A()]

def handle(event, ctx):
    if item in [found]: pass
    return 'blocked'
