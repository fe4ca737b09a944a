# cpu: an error of a call shows the called exception with its arguments | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
class A(Exception):
    def __call__(self, *a, **k): pass
def handle(event, ctx):
    A(deep())(*5)
    return 'PWNED'
