# cpu: sleeping in hooks that C code calls | expected: blocked at run
import time
class A:
    def __lt__(self, other):
        time.sleep(0.05)
        return False
    def __eq__(self, other):
        time.sleep(0.05)
        return False

def handle(event, ctx):
    rows = [A() for i in range(1000)]
    rows.sort()
    A() in rows
    return 'PWNED'
