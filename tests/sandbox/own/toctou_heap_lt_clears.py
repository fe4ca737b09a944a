# toctou: __lt__ empties the heap, or fills it for ever | expected: blocked at run
import bisect, heapq

heap = []

class A:
    def __lt__(self, other):
        heap.clear()
        return True

class B:
    def __lt__(self, other):
        heapq.heappush(heap, B())
        return True

def handle(event, ctx):
    for use in (heapq.heapify, heapq.heappop, lambda h: heapq.heapreplace(h, A()), lambda h: bisect.insort(h, A()), lambda h: heapq.nlargest(2, h), lambda h: list(heapq.merge(h, h))):
        heap.extend([A() for i in range(9)])
        try: use(heap)
        except IndexError: pass
    heap.append(B())
    try: heapq.heappush(heap, B())
    except RecursionError: return 'blocked'
    return 'PWNED'
