# cpu: a property on the right side of < makes the left side deep | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

left = []

class A:
    @property
    def x(self):
        left.append(deep())
        return [deep()]

a = A()

def handle(event, ctx):
    if left < a.x: pass
    return 'blocked'
