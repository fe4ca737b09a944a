# cpu: `in` over an object whose __iter__ gives an endless map | expected: blocked at run
class A:
    def __iter__(self):
        return map(abs, range(10**12))

def handle(event, ctx):
    return 'PWNED' if -1 in A() else 'PWNED'
