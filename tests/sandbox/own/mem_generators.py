# memory: half a million generators wait at once, and the garbage collector visits each of their frames | expected: blocked at run
def handle(event, ctx):
    return len([(j for j in range(2)) for i in range(500000)])
