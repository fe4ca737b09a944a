# cpu: __getitem__ without end is unpacked | expected: blocked at run
class A:
    def __getitem__(self, at): return at

def handle(event, ctx):
    first, *rest = A()
    return 'PWNED'
