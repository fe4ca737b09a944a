# toctou: __lt__ makes the items of a heap deep, longer and shorter while they are compared | expected: blocked at run
import heapq

def deep():
    a = []
    for i in range(30): a = [a, a]
    return a

parts = [[], []]

class A:
    def __lt__(self, other):
        for part in parts: part.append(deep())
        return False
    def __eq__(self, other):
        for part in parts: part.append(deep())
        return True

def handle(event, ctx):
    heap = [[A(), parts[0]], [A(), parts[1]], [A(), parts[0]], [A(), parts[1]]]
    heapq.heapify(heap)
    for i in range(5): heapq.heappushpop(heap, [A(), parts[i % 2]])
    return 'PWNED'
