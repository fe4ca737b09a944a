# cpu: order of dataclasses whose fields grow while they are compared | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

class A:
    def __eq__(self, other):
        one.append(deep())
        two.append(deep())
        return True

@dataclass(order=True)
class Row:
    key: object
    rest: list

one, two = [], []

def handle(event, ctx):
    Row(A(), one) < Row(A(), two)
    return 'blocked'
