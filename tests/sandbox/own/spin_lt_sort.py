# cpu: __lt__ that never returns, in sort | expected: blocked at run
class A:
    def __lt__(self, other):
        while True: pass

def handle(event, ctx):
    return 'PWNED' + str(sorted([A(), A()]))
