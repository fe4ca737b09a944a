# cpu: bisect in a sequence of the script that never ends | expected: blocked at run
import bisect

class A:
    def __len__(self): return 10 ** 18
    def __getitem__(self, n): return n
    def insert(self, at, item): return bisect.insort(self, item)

def handle(event, ctx):
    if bisect.bisect(A(), 5) != 6: return 'PWNED'
    try: bisect.insort(A(), 5)
    except RecursionError: pass
    return 'PWNED' + str(bisect.bisect(A(), 5, 0, 10 ** 300, key=lambda n: sum([n for i in range(10 ** 6)])))
