# cpu: __eq__ makes deep what it is handed while lists are sorted | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
class A:
    def __eq__(self, other):
        if type(other) is list: other.append(deep())
        return True
    def __lt__(self, other): return False
def handle(event, ctx):
    'PWNED' + str(len(sorted([[A()], [[]], [A()], [[]], [A()], [[]], [[]], [[]]] * 3)))
    return 'blocked'
