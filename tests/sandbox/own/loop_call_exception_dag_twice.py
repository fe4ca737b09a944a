# cpu: an error of a call with one name twice shows the called exception with its arguments | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
class A(Exception):
    def __call__(self, *a, **k): pass
def handle(event, ctx):
    A(deep())(**{'x': 1}, **{'x': 2})
    return 'PWNED'
