# cpu: merge of endless iterables, in C code and with a key that swallows | expected: blocked at run
import heapq, itertools

def handle(event, ctx):
    return 'PWNED' + str(sum(heapq.merge(itertools.count(), itertools.count(), key=lambda n: -n)))
