# memory: a heap grows for ever | expected: blocked at run
import heapq

def handle(event, ctx):
    heap = []
    while True: heapq.heappush(heap, 'x' * 5000)
