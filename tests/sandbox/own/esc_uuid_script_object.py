# cpu: a UUID holds an object of the script, and sorting UUIDs runs its methods | expected: blocked at run
import uuid
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
one, two = [], []
class A:
    def __ge__(self, other): return True
    def __lt__(self, other):
        if one: one.append(deep()); two.append(deep())
        return True
    def __eq__(self, other):
        if other is None: return False
        one.append(deep()); two.append(deep())
        return True
def handle(event, ctx):
    a, b = uuid.UUID(int=A()), uuid.UUID(int=A())
    one.append(1); two.append(1)
    return 'PWNED' + str(len(sorted([(a, one), (b, two), (a, one), (b, two)])))
