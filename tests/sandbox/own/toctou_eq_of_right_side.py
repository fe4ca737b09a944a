# cpu: __eq__ of an object on the right side makes both sides deep | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

class A:
    def __eq__(self, other):
        left.append(deep())
        right.append(deep())
        return True

left, right = [1], [A()]

def handle(event, ctx):
    if left == right: pass
    if {'k': left} == {'k': right}: pass
    if left in [right]: pass
    return 'blocked'
