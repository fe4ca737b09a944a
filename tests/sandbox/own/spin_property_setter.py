# cpu: a property setter spins, called by setattr and += | expected: blocked at run
class A:
    @property
    def x(self): return 1
    @x.setter
    def x(self, value):
        while True: pass

def handle(event, ctx):
    a = A()
    a.x += 1
    return 'PWNED'
