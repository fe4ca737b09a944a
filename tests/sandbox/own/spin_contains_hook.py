# cpu: __contains__ spins, asked by `in` and match | expected: blocked at run
class A:
    def __contains__(self, item):
        while True:
            try: 1 / 0
            except ZeroDivisionError: continue

def handle(event, ctx):
    return 'PWNED' if 1 in A() else ''
