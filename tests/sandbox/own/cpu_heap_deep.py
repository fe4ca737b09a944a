# cpu: heaps of shared structures | expected: blocked at run
import bisect, heapq

def deep():
    a = []
    for i in range(40): a = [a, a]
    return a

def handle(event, ctx):
    for use in (lambda: heapq.heapify([deep(), deep()]), lambda: heapq.heappush([deep()], deep()), lambda: bisect.bisect([deep()], deep()), lambda: heapq.nsmallest(1, [deep(), deep()]), lambda: list(heapq.merge([deep()], [deep()]))):
        try: use()
        except LimitError: continue
        return 'PWNED'
    return 'blocked'
